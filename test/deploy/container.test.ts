import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ended, folder, read, root, started } from './service.js';
import { ensureHadolint, hadolintNeeded } from './tools.js';

describe('the container', () => {
  const file = read('deploy/container/Containerfile');

  it.skipIf(hadolintNeeded.skip)(
    `passes hadolint${hadolintNeeded.title}`,
    () => {
      expect(execFileSync(ensureHadolint(), [join(root, 'deploy/container/Containerfile')], { encoding: 'utf8', stdio: 'pipe' })).toBe('');
    },
    300_000,
  );

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
    expect(size).toBeLessThan(110);

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
