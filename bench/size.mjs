// npm run bench:size: what the library adds to a program: time to the first decision, and bytes on the wire. See README.md.
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { judged, spread } from './summary.mjs';
import { aligned, verdictLine } from './table.mjs';

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

const root = join(import.meta.dirname, '..');
const runs = 20;

const memory = `import { createLimiter, memoryStore, tokenBucket } from 'headgate';
const limiter = createLimiter({ store: memoryStore(), rules: { api: { limit: tokenBucket({ capacity: 20, refill: '2/s' }) } } });
const { allowed } = await limiter.check('api', 'key42');`;

/** Milliseconds from starting a Node process to its end. */
function lifeOf(...args) {
  const start = performance.now();
  execFileSync(process.execPath, args, { cwd: root });
  return performance.now() - start;
}

/** In turn, so that whatever else the machine does meets both. */
function timeToFirstDecision() {
  const first = () => lifeOf('--input-type=module', '-e', `${memory}\nif (!allowed) process.exitCode = 1;`);
  // The first process reads the files from disk, the later ones from memory.
  first();
  return spread(
    Array.from({ length: runs }, () => {
      const empty = lifeOf('-e', '0');
      return first() - empty;
    }),
  );
}

const entries = {
  'createLimiter, tokenBucket, memoryStore': "export { createLimiter, tokenBucket, memoryStore } from 'headgate';",
  'createLimiter, tokenBucket, redisStore':
    "export { createLimiter, tokenBucket } from 'headgate';\nexport { redisStore } from 'headgate/redis';",
};

/** What a bundler makes of it: minified, without what is not used; code that is loaded when it is first called for (`limiter.fetch`) apart. */
async function bundle(entry) {
  const id = 'virtual:entry';
  const { output } = await build({
    root,
    configFile: false,
    logLevel: 'silent',
    plugins: [
      {
        name: 'entry',
        resolveId: (asked) => (asked === id ? `\0${id}` : undefined),
        load: (asked) => (asked === `\0${id}` ? entry : undefined),
      },
    ],
    build: {
      ssr: true,
      write: false,
      minify: true,
      target: 'node20',
      rollupOptions: { input: id, output: { format: 'es' } },
    },
    ssr: { noExternal: ['headgate'] },
  });
  const size = (files) => {
    const bytes = files.map(({ code }) => ({ minified: Buffer.byteLength(code), gzipped: gzipSync(code, { level: 9 }).length }));
    return { minified: sum(bytes.map(({ minified }) => minified)), gzipped: sum(bytes.map(({ gzipped }) => gzipped)) };
  };
  const byName = new Map(output.map((file) => [file.fileName, file]));
  const atOnce = new Set();
  const add = (file) => {
    if (file === undefined || atOnce.has(file)) return;
    atOnce.add(file);
    for (const name of file.imports) add(byName.get(name));
  };
  add(output.find(({ isEntry }) => isEntry));
  return { ...size([...atOnce]), later: size(output.filter((file) => !atOnce.has(file))) };
}

const kB = (bytes) => (bytes / 1000).toFixed(1);

console.log(`${cpus().length} x ${cpus()[0]?.model.trim()}; Node ${process.version}\n`);
const sizes = Object.fromEntries(await Promise.all(Object.entries(entries).map(async ([name, entry]) => [name, await bundle(entry)])));
const rows = Object.entries(sizes).map(([name, { minified, gzipped, later }]) => [name, kB(minified), kB(gzipped), kB(later.gzipped)]);
console.log(`${aligned([['kB', 'minified', 'gzipped', 'gzipped, later'], ...rows]).join('\n')}\n`);
const { median, min, max } = timeToFirstDecision();

const goals = [
  { text: 'import and first decision, ms above `node -e 0`', value: median, min, max, must: 30 },
  ...Object.entries(sizes).map(([name, { gzipped }]) => ({ text: `gzipped kB: ${name}`, value: gzipped / 1000, must: 15 })),
];
for (const goal of goals) console.log(verdictLine(judged({ ...goal, bound: 'at most' })));
