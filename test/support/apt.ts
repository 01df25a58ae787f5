import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';

export interface AptOptions {
  /** Seconds to wait for another apt to end. */
  readonly lockSeconds?: number;
  /** Milliseconds after which it is given up. */
  readonly timeout?: number;
}

/** Whether packages may be installed here: as root, on Debian. */
export const mayInstall = (): boolean => process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');

/**
 * Installs a Debian package. What it brings is not started: only a test's own is.
 *
 * @throws what apt said, where there is no network for instance
 */
export function aptInstall(name: string, { lockSeconds = 0, timeout }: AptOptions = {}): void {
  // Debian starts a service on installation unless this file says no.
  const policy = '/usr/sbin/policy-rc.d';
  const ours = !existsSync(policy);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const packages = ['-o', `DPkg::Lock::Timeout=${lockSeconds}`, 'install', '-y', '--no-install-recommends', name];
  const run = (...args: string[]) => execFileSync('/usr/bin/apt-get', args, { stdio: 'pipe', env, timeout });
  try {
    if (ours) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
    try {
      run(...packages);
    } catch {
      run('update');
      run(...packages);
    }
  } finally {
    if (ours) rmSync(policy, { force: true });
  }
}
