// The servers that are compared: the service by its own command, and a bare Fastify that answers the same bytes.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const bin = join(import.meta.dirname, '../../packages/server/bin/headgate.js');

/** Never refuses, and is never full again before the next check of a key: each reads and writes a counter. */
const rules = `version: 1
rules:
  - name: api
    match: { path: /api/* }
    key: [apiKey]
    limit: { tokenBucket: { capacity: 1000000, refill: 1/s } }
`;

/** CPU time of a process, all its threads, in microseconds. */
function cpuUsOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ');
  // User and system time in ticks of 10 ms, fields 14 and 15.
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

const running = (child, port) => ({ port, cpuUs: () => cpuUsOf(child.pid), stop: () => child.kill('SIGKILL') });

/** `headgate serve`, with Redis at this port or in memory. */
export async function startService(redisPort) {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  const file = join(folder, 'rules.yaml');
  writeFileSync(file, rules);
  const redis = redisPort === undefined ? [] : ['--redis', `redis://127.0.0.1:${redisPort}`];
  // A busy machine must not turn decisions into degraded ones.
  const env = { PATH: process.env.PATH, HEADGATE_DEADLINE: '2s', HEADGATE_LOG_LEVEL: 'error', HEADGATE_SECRET: 'a secret of the bench' };
  const child = spawn(process.execPath, [bin, 'serve', '--http-port', '0', '--rules', file, ...redis], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.once('exit', () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  let text = '';
  for await (const chunk of child.stdout) {
    text += chunk;
    if (text.includes('Counters are')) break;
  }
  return running(child, Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec(text)[1]));
}

/** The bare server, told what the service answered. */
export async function startBare(answers) {
  const child = fork(join(import.meta.dirname, 'bare.mjs'));
  process.once('exit', () => child.kill('SIGKILL'));
  child.send({ verb: 'serve', ...answers });
  const [{ answer, error }] = await once(child, 'message');
  if (error !== undefined) throw new Error(error);
  return running(child, answer);
}
