// Turns stores/redis/scripts/*.lua into a TypeScript module: includes put in, comments left out, text escaped.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const redis = join(import.meta.dirname, '../packages/headgate/src/stores/redis');
const scripts = join(redis, 'scripts');

/** A text with its includes put in, each once. */
function include(text, seen) {
  return text.replace(/^--@include (\w+)$/gm, (_, lib) => {
    if (seen.has(lib)) return '';
    seen.add(lib);
    return include(readFileSync(join(scripts, 'lib', `${lib}.lua`), 'utf8'), seen);
  });
}

/** One script as Redis gets it. */
export function assemble(name) {
  return include(readFileSync(join(scripts, `${name}.lua`), 'utf8'), new Set())
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('--'))
    .join('\n');
}

export const names = readdirSync(scripts)
  .filter((file) => file.endsWith('.lua'))
  .map((file) => file.slice(0, -4))
  .sort();

if (process.argv[1] === import.meta.filename) {
  const entries = names.map((name) => `  '${name}': ${JSON.stringify(assemble(name))},\n`).join('');
  const module = `// Made by tools/build-lua.mjs from scripts/*.lua; do not edit.\nexport const sources = {\n${entries}} as const;\n`;
  mkdirSync(join(redis, 'gen'), { recursive: true });
  const target = join(redis, 'gen/sources.ts');
  let old = '';
  try {
    old = readFileSync(target, 'utf8');
  } catch {
    // The first build.
  }
  if (old !== module) writeFileSync(target, module);
}
