// Puts the library's modules, as tsc leaves them, into one file for each entry and what they share: Node finds and links a file in about a
// millisecond, and there are over fifty. Not minified: stack traces and readers need the names.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';

const library = join(import.meta.dirname, '../packages/headgate');
const target = join(library, 'dist/bundle');
const middlewares = ['express', 'fastify', 'hono', 'koa', 'fetch', 'nest', 'express-rate-limit-store'];

const { output } = await build({
  root: library,
  configFile: false,
  logLevel: 'warn',
  build: {
    ssr: true,
    write: false,
    minify: false,
    target: 'node20',
    rollupOptions: {
      input: {
        index: 'dist/index.js',
        redis: 'dist/redis.js',
        remote: 'dist/remote.js',
        layers: 'dist/layers/index.js',
        otel: 'dist/otel/index.js',
        http: 'dist/http/index.js',
        testing: 'dist/testing/index.js',
        ...Object.fromEntries(middlewares.map((name) => [name, `dist/middleware/${name}.js`])),
      },
      output: { format: 'es', entryFileNames: '[name].js', chunkFileNames: 'shared-[name].js' },
    },
  },
});

const textOf = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};

mkdirSync(target, { recursive: true });
const files = output.map(({ fileName }) => fileName);
for (const old of readdirSync(target)) if (!files.includes(old)) rmSync(join(target, old));
for (const { fileName, code } of output) {
  const path = join(target, fileName);
  // What runs meanwhile never reads half a file of the same text.
  if (textOf(path) !== code) writeFileSync(path, code);
}
