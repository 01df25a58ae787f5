import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

describe('the packed library', () => {
  let folder: string;
  let tarball: string;
  const run = (command: string, args: readonly string[], cwd = folder): string => execFileSync(command, args, { cwd, encoding: 'utf8' });

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-package-'));
    const packed = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder], join(root, 'packages/headgate'))) as unknown;
    const [{ filename = '' } = {}] = Object.values(packed as Record<string, { filename?: string }>);
    tarball = join(folder, filename);
    writeFileSync(join(folder, 'package.json'), '{ "name": "user", "private": true, "type": "module" }');
    run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball]);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('installs in an empty project, and nothing else with it', () => {
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['headgate']);
  });

  it("runs the README's first example, which prints what it says", () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const code = /```ts\n(.*?)```/s.exec(readme)?.[1] ?? '';
    const promised = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
    writeFileSync(join(folder, 'example.mjs'), code);
    expect(promised.length).toBeGreaterThan(0);
    expect(run(process.execPath, ['example.mjs']).trim().split('\n')).toEqual(promised);
  });

  it('makes no telemetry, and no error, where there is no OpenTelemetry', () => {
    writeFileSync(
      join(folder, 'telemetry.mjs'),
      `import { createLimiter, fixedWindow } from 'headgate';
       import { instrument } from 'headgate/otel';
       const limiter = createLimiter({ rules: { api: { limit: fixedWindow({ limit: 1, window: '1m' }) } } });
       const { active, stop } = await instrument({ limiters: { limiter } });
       console.log(active, (await limiter.check('api', 'key')).allowed);
       stop();`,
    );
    expect(run(process.execPath, ['telemetry.mjs']).trim()).toBe('false true');
  });

  it('calls others, by a part that is loaded with the first call', () => {
    writeFileSync(
      join(folder, 'outbound.mjs'),
      `import { createLimiter, fixedWindow } from 'headgate';
       const limiter = createLimiter({ rules: { api: { limit: fixedWindow({ limit: 1, window: '1d', from: 'first-request' }) } } });
       const call = limiter.fetch('api', 'key', { fetch: async () => new Response('answer') });
       console.log(await (await call('http://127.0.0.1/')).text(), await call('http://127.0.0.1/').catch(({ code }) => code));`,
    );
    expect(run(process.execPath, ['outbound.mjs']).trim()).toBe('answer HEADGATE_NO_TURN');
  });

  it('can be required from CommonJS', () => {
    writeFileSync(
      join(folder, 'example.cjs'),
      "console.log(typeof require('headgate').createLimiter, typeof require('headgate/redis').redisStore, typeof require('headgate/remote').remoteStore);",
    );
    expect(run(process.execPath, ['--no-warnings', 'example.cjs']).trim()).toBe('function function function');
  });

  it('holds types for every entry, and no sources, tests or build leftovers', () => {
    const at = join(folder, 'node_modules/headgate');
    const { exports } = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8')) as {
      exports: Record<string, { types: string; default: string } | string>;
    };
    for (const entry of Object.values(exports)) {
      for (const file of typeof entry === 'string' ? [entry] : [entry.types, entry.default])
        expect(existsSync(join(at, file)), file).toBe(true);
    }
    expect(readdirSync(at).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
  });

  it('passes publint and are-the-types-wrong', () => {
    expect(run('npx', ['publint', '--strict', tarball], root)).toContain('All good!');
    // Exits with 1, which throws, if a type cannot be resolved from ESM or a bundler.
    expect(run('npx', ['attw', '--profile', 'esm-only', '--no-color', tarball], root)).toContain('🟢 (ESM)');
  });
});
