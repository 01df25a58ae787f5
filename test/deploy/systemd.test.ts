import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configOf, readServeSettings } from '../../packages/server/src/config.js';
import { folder, holding, read, secretFiles } from './service.js';
import { ensureSystemdAnalyze, systemdNeeded } from './tools.js';

describe('the systemd unit', () => {
  const unit = read('deploy/systemd/headgate.service');
  const all = (name: string): string[] => [...unit.matchAll(new RegExp(`^#?${name}=(.*)$`, 'gm'))].map(([, text = '']) => text);
  /** Where systemd puts what the unit names by a specifier, here. */
  const here = (text: string): string => text.replace('%d', join(folder, 'credentials')).replace('%S', folder);

  it.skipIf(systemdNeeded.skip)(
    `passes systemd-analyze, and is exposed no more than "OK"${systemdNeeded.title}`,
    () => {
      const file = join(holding('unit', {}), 'headgate.service');
      // The command has to be there.
      writeFileSync(file, unit.replace('/usr/bin/headgate', process.execPath));
      const tool = ensureSystemdAnalyze();
      expect(execFileSync(tool, ['verify', '--man=no', file], { encoding: 'utf8', stdio: 'pipe' })).toBe('');
      // Ends with another code than 0, which throws, above 1.5 of 10.
      execFileSync(tool, ['security', '--offline=yes', '--no-pager', '--threshold=15', file], { stdio: 'pipe' });
    },
    180_000,
  );

  it('does not start again what faulty settings or a faulty command line ended', () => {
    expect(all('RestartPreventExitStatus')).toEqual(['64 78']);
    expect(all('Restart')).toEqual(['on-failure']);
  });

  it('names credentials and settings that exist, those that are commented out as well', () => {
    holding('credentials', secretFiles('redis://127.0.0.1:6379'));
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
