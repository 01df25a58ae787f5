// node deploy/container/assemble.mjs FOLDER: puts into an empty folder what the built service needs to run, and nothing else: what the two
// packages publish, and their dependencies as the lock file has them.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const [folder] = process.argv.slice(2);
if (folder === undefined || (mkdirSync(folder, { recursive: true }) === undefined && readdirSync(folder).length > 0)) {
  console.error('assemble.mjs FOLDER: expected a folder that is empty or not there');
  process.exit(64);
}
const root = resolve(import.meta.dirname, '../..');
const out = resolve(folder);
const shipped = ['packages/headgate', 'packages/server'];

function copy(path) {
  mkdirSync(dirname(join(out, path)), { recursive: true });
  cpSync(join(root, path), join(out, path));
}

/** The files of a package that npm would publish, but for types. */
function published(workspace) {
  const listed = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: join(root, workspace), encoding: 'utf8' }),
  );
  const [{ files }] = Object.values(listed);
  return files.map(({ path }) => path).filter((path) => !path.endsWith('.d.ts'));
}

const readJson = (path) => JSON.parse(readFileSync(join(out, path), 'utf8'));
const writeJson = (path, value) => writeFileSync(join(out, path), JSON.stringify(value));

/** Takes out of the manifests what only developers need, and Redis clients that a user of the library may bring: npm would install both. */
function withoutTools() {
  const strip = ({ devDependencies, peerDependencies, peerDependenciesMeta, ...manifest }) => manifest;
  const lock = readJson('package-lock.json');
  for (const folder of ['', ...shipped]) {
    const path = join(folder, 'package.json');
    writeJson(path, strip(readJson(path)));
    lock.packages[folder] = strip(lock.packages[folder]);
  }
  writeJson('package-lock.json', lock);
}

// All workspaces have to be there for the lock file to fit.
const manifests = readdirSync(join(root, 'packages'))
  .map((name) => `packages/${name}`)
  .filter((workspace) => readdirSync(join(root, workspace)).includes('package.json'));
for (const path of ['package.json', 'package-lock.json', '.npmrc', ...manifests.map((workspace) => `${workspace}/package.json`)])
  copy(path);
for (const workspace of shipped) for (const path of published(workspace)) copy(`${workspace}/${path}`);
withoutTools();
const only = shipped.flatMap((workspace) => ['--workspace', readJson(`${workspace}/package.json`).name]);
execFileSync('npm', ['ci', '--ignore-scripts', ...only], { cwd: out, stdio: 'inherit' });
for (const path of ['package.json', 'package-lock.json', '.npmrc', ...manifests.filter((workspace) => !shipped.includes(workspace))])
  rmSync(join(out, path), { recursive: true });
