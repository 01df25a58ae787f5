import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { configOf, readServeSettings } from '../../packages/server/src/config.js';
import { freePort, startRedis, type RedisServer } from '../support/redis.js';
import type { Manifest } from './kubernetes-types.js';
import { ensureHadolint, ensureSystemdAnalyze } from './tools.js';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const manifest = (name: string): Manifest => parse(read(`deploy/kubernetes/${name}.yaml`)) as Manifest;

let folder: string;
let redis: RedisServer;
const children: ChildProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-deploy-'));
  redis = await startRedis();
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A folder with these files. */
function holding(name: string, files: Record<string, string>): string {
  const place = join(folder, name);
  mkdirSync(place, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(place, file), text);
  return place;
}

const secrets = (): Record<string, string> => ({
  secret: 's'.repeat(32),
  redis: redis.url,
  database: 'sqlite:rules.db',
  'webhook-secret': 'w'.repeat(32),
});

interface Started {
  readonly url: string;
  readonly child: ChildProcess;
}

/** Starts the service from `bin`, as a deploy file says; done once it answers. */
async function started(bin: string, args: readonly string[], env: Record<string, string>): Promise<Started> {
  const port = await freePort();
  const child = spawn(process.execPath, [bin, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env, HEADGATE_HTTP_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let said = '';
  child.stderr.on('data', (chunk) => (said += String(chunk)));
  const url = `http://127.0.0.1:${port}`;
  const answers = async (): Promise<boolean> =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(answers, { timeout: 30_000, message: `does not answer: ${said}` }).toBe(true);
  return { url, child };
}

async function ended({ child }: Started): Promise<unknown> {
  const code = once(child, 'close').then(([exitCode]) => exitCode as unknown);
  child.kill('SIGTERM');
  return code;
}

const bin = join(root, 'packages/server/bin/headgate.js');

describe('the systemd unit', () => {
  const unit = read('deploy/systemd/headgate.service');
  const all = (name: string): string[] => [...unit.matchAll(new RegExp(`^#?${name}=(.*)$`, 'gm'))].map(([, text = '']) => text);
  /** Where systemd puts what the unit names by a specifier, here. */
  const here = (text: string): string => text.replace('%d', join(folder, 'credentials')).replace('%S', folder);

  it('passes systemd-analyze, and is exposed no more than "OK"', () => {
    const file = join(holding('unit', {}), 'headgate.service');
    // The command has to be there.
    writeFileSync(file, unit.replace('/usr/bin/headgate', process.execPath));
    const tool = ensureSystemdAnalyze();
    expect(execFileSync(tool, ['verify', '--man=no', file], { encoding: 'utf8', stdio: 'pipe' })).toBe('');
    // Ends with another code than 0, which throws, above 1.5 of 10.
    execFileSync(tool, ['security', '--offline=yes', '--no-pager', '--threshold=15', file], { stdio: 'pipe' });
  }, 180_000);

  it('does not start again what faulty settings or a faulty command line ended', () => {
    expect(all('RestartPreventExitStatus')).toEqual(['64 78']);
    expect(all('Restart')).toEqual(['on-failure']);
  });

  it('names credentials and settings that exist, those that are commented out as well', () => {
    holding('credentials', secrets());
    holding('headgate', {});
    const env = Object.fromEntries(all('Environment').map((text) => here(text).split(/=(.*)/s).slice(0, 2)));
    for (const file of all('LoadCredential')) expect(file).toMatch(/^([a-z-]+):\/etc\/headgate\/secrets\/\1$/);
    const config = join(holding('etc', { 'headgate.yaml': read('deploy/systemd/headgate.yaml') }), 'headgate.yaml');
    const [, ...args] = (all('ExecStart')[0] ?? '')
      .split(' ')
      .slice(1)
      .map((text) => text.replace('/etc/headgate/headgate.yaml', config));
    const { HEADGATE_DATABASE_FILE, ...usual } = env;
    expect(configOf(readServeSettings(args, usual))).toMatchObject({
      secret: 's'.repeat(32),
      rules: '/etc/headgate/rules.yaml',
      cache: `${folder}/headgate/cache`,
    });
    const { faults } = readServeSettings(['--rules', ''], { ...usual, HEADGATE_DATABASE_FILE });
    expect(faults).toEqual([]);
    expect(Object.keys(env)).toEqual(
      expect.arrayContaining(
        all('LoadCredential').map((text) => `HEADGATE_${(text.split(':')[0] ?? '').toUpperCase().replaceAll('-', '_')}_FILE`),
      ),
    );
  });
});

describe('the Kubernetes manifests', () => {
  const pod = manifest('deployment').spec.template.spec;
  const [container] = pod.containers;
  const variables = (): [string, string][] => container.env.map(({ name, value }: { name: string; value: string }) => [name, value]);

  it('start a service that answers each probe, by the mounts and variables that they give it', async () => {
    const mounted = {
      '/run/secrets/headgate': holding('run-secrets', secrets()),
      '/etc/headgate/rules': holding('rules', manifest('rules').data),
    };
    const local = (value: string): string => Object.entries(mounted).reduce((text, [from, to]) => text.replace(from, to), value);
    const env = Object.fromEntries(variables().map(([name, value]) => [name, local(value)]));
    const service = await started(bin, container.args, env);
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      expect((await fetch(service.url + String(container[probe].httpGet.path))).status, probe).toBe(200);
    }
    const check = await fetch(`${service.url}/v1/check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ rule: 'search', key: 'key42' }),
    });
    expect(await check.json()).toMatchObject({ allowed: true, decision: { source: 'store', remaining: 19 } });
    expect(await ended(service)).toBe(0);
  });

  it('give variables of settings that exist', () => {
    const names = new Set(readServeSettings([], {}).origins.map(({ name }) => `HEADGATE_${name.toUpperCase().replaceAll('-', '_')}`));
    for (const [name] of variables()) expect(names, name).toContain(name.replace(/_FILE$/, ''));
  });

  it('run it as nobody, over a root that is only read, with no secret in a variable', () => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(variables().filter(([name]) => /SECRET$|REDIS$|DATABASE$/.test(name))).toEqual([]);
  });

  it('wait for load balancers before the server is told to stop, and have time left after it', () => {
    const [, seconds] = container.lifecycle.preStop.exec.command;
    expect(Number(seconds) * 2).toBeLessThan(pod.terminationGracePeriodSeconds);
  });

  it('mean one another', () => {
    const { labels } = manifest('deployment').spec.template.metadata;
    const selectors = [
      manifest('deployment').spec.selector.matchLabels,
      manifest('service').spec.selector,
      manifest('poddisruptionbudget').spec.selector.matchLabels,
      manifest('networkpolicy').spec.podSelector.matchLabels,
    ];
    for (const selector of selectors) expect(labels).toMatchObject(selector);
    expect(manifest('horizontalpodautoscaler').spec.scaleTargetRef.name).toBe(manifest('deployment').metadata.name);
    expect(pod.serviceAccountName).toBe(manifest('serviceaccount').metadata.name);
    expect(pod.volumes.find(({ name }: { name: string }) => name === 'rules').configMap.name).toBe(manifest('rules').metadata.name);
    expect(manifest('service').spec.ports[0].targetPort).toBe(container.ports[0].name);
  });
});

describe('the container', () => {
  const file = read('deploy/container/Containerfile');

  it('passes hadolint', () => {
    expect(execFileSync(ensureHadolint(), [join(root, 'deploy/container/Containerfile')], { encoding: 'utf8', stdio: 'pipe' })).toBe('');
  }, 300_000);

  it('copies what there is, and nothing that its ignore file keeps out', () => {
    const kept = read('deploy/container/Containerfile.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'));
    const copied = [...file.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '));
    for (const path of copied) {
      expect(existsSync(join(root, path)), path).toBe(true);
      expect(kept, path).toContain(`!${path}`);
    }
    expect(copied.length).toBe(kept.length);
  });

  it('is assembled without tools of developers, and serves, keeps SQLite and passes its health check', async () => {
    const app = join(folder, 'app');
    execFileSync(process.execPath, ['deploy/container/assemble.mjs', app], { cwd: root, stdio: 'pipe' });
    const { devDependencies } = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> };
    const installed = readdirSync(join(app, 'node_modules')).flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(app, 'node_modules', name)).map((one) => `${name}/${one}`) : [name],
    );
    // A dependency of the service that tests use as well.
    const both = Object.keys((JSON.parse(read('packages/server/package.json')) as { dependencies: object }).dependencies);
    expect(installed.filter((name) => name in devDependencies && !both.includes(name))).toEqual([]);
    expect(installed).toEqual(expect.arrayContaining(both));
    const size = Number(execFileSync('du', ['-sm', app], { encoding: 'utf8' }).split('\t')[0]);
    expect(size).toBeLessThan(90);

    // As the image has it: what was built, moved elsewhere.
    const image = join(folder, 'image');
    cpSync(app, image, { recursive: true, verbatimSymlinks: true });
    rmSync(app, { recursive: true });
    const entry = join(image, 'packages/server/bin/headgate.js');
    expect(file).toContain('ENTRYPOINT ["node", "/app/packages/server/bin/headgate.js"]');
    const env = Object.fromEntries(
      [.../^ENV (.*)$/m.exec(file)![1]!.matchAll(/(\S+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
    );
    const database = `sqlite:${join(folder, 'rules.db')}`;
    execFileSync(process.execPath, [entry, 'rules', 'import', join(root, 'packages/server/rules/sample.yaml'), '--database', database], {
      stdio: 'pipe',
    });
    const service = await started(entry, ['serve'], { ...env, HEADGATE_DATABASE: database });
    const [, health = ''] = /HEALTHCHECK[^[]*\["node", "-e", "(.*)"\]/.exec(file) ?? [];
    const { port } = new URL(service.url);
    const healthy = (onPort: string): unknown =>
      execFileSync(process.execPath, ['-e', health], { env: { HEADGATE_HTTP_PORT: onPort }, stdio: 'pipe' });
    healthy(port);
    expect(await ended(service)).toBe(0);
    expect(() => healthy(port)).toThrow();
  }, 300_000);
});
