import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const versionOf = (name) => JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version;

/** Where and with what it is measured; `control` is a client of the Redis that is used. */
export async function describe(control, packages) {
  return {
    at: new Date().toISOString(),
    machine: `${cpus().length} x ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    node: process.version,
    redis: /redis_version:(\S+)/.exec(await control.info('server'))?.[1],
    packages: Object.fromEntries(packages.map((name) => [name, versionOf(name)])),
  };
}

/** The same in one line. */
export function aboutLine({ machine, node, redis, packages }) {
  const versions = Object.entries(packages)
    .map((entry) => entry.join(' '))
    .join(', ');
  return `${machine}; Node ${node}, Redis ${redis}; ${versions}`;
}
