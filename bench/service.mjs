// npm run bench:service: what a request costs the service, beside a bare Fastify route that answers the same bytes. See README.md.
import { Redis } from 'ioredis';
import { startRedis } from '../tools/redis.mjs';
import { aboutLine, describe } from './about.mjs';
import { judged, spread } from './summary.mjs';
import { aligned, verdictLine } from './table.mjs';
import { drive, openConnection, render, stayAwake } from './service/client.mjs';
import { readOptions } from './service/options.mjs';
import { startBare, startService } from './service/servers.mjs';

const keys = 10_000;
/** An API key as clients have them. */
const keyOf = (i) => `key-${String(i).padStart(8, '0')}`;
const every = (request) => Array.from({ length: keys }, (_, i) => render(request(keyOf((i * 7919) % keys))));

const asked = {
  check: {
    title: 'POST /v1/check',
    status: 200,
    requests: every((key) => ({ method: 'POST', path: '/v1/check', body: { rule: 'api', key } })),
  },
  gate: {
    title: 'GET /v1/gate',
    status: 204,
    requests: every((key) => ({ method: 'GET', path: '/v1/gate/api/x', headers: { 'x-api-key': key } })),
  },
};

const { rounds, seconds, inFlight } = readOptions(process.argv.slice(2));

const connect = (port) => Promise.all(Array.from({ length: inFlight }, () => openConnection(port)));

function partsOf(bytes) {
  const [head, body] = bytes.toString('latin1').split('\r\n\r\n');
  const headers = head
    .split('\r\n')
    .slice(1)
    .map((line) => /^([^:]+): (.*)$/.exec(line).slice(1));
  return { headers, body };
}

/** What the service answers, for the bare server to repeat. */
async function sample({ port }) {
  const { ask, close } = await openConnection(port);
  const answers = {};
  for (const [name, { requests }] of Object.entries(asked)) answers[name] = partsOf(await ask(requests[0]));
  close();
  return answers;
}

async function measure({ server, requests, status, ms }) {
  const connections = await connect(server.port);
  await drive({ connections, requests, status, ms: ms / 5 });
  const before = server.cpuUs();
  const { latencies, wrong, seconds } = await drive({ connections, requests, status, ms });
  const cpuUs = server.cpuUs() - before;
  for (const { close } of connections) close();
  latencies.sort((a, b) => a - b);
  const at = (part) => latencies[Math.floor((latencies.length - 1) * part)];
  const perSecond = latencies.length / seconds;
  return { perSecond, perCore: (latencies.length * 1e6) / cpuUs, p50Ms: at(0.5), p99Ms: at(0.99), wrong };
}

const redis = await startRedis();
const control = new Redis({ host: redis.host, port: redis.port });
console.log(aboutLine(await describe(control, ['fastify', 'ioredis'])));
console.log(`${keys} keys, ${inFlight} connections; median (min..max) of ${rounds} rounds of ${seconds} s, servers in turn within each\n`);

const memory = await startService();
const shared = await startService(redis.port);
const servers = { 'bare Fastify': await startBare(await sample(memory)), 'Headgate, memory': memory, 'Headgate, Redis': shared };

stayAwake();
// As in an app that runs for a while: of the first requests most of the time is V8's compiler.
for (const { requests, status } of Object.values(asked)) {
  for (const { port } of Object.values(servers)) {
    const connections = await connect(port);
    await drive({ connections, requests, status, ms: 10_000, most: 20_000 });
    for (const { close } of connections) close();
  }
}

const cells = [];
for (let round = 0; round < rounds; round += 1) {
  for (const [what, { requests, status }] of Object.entries(asked)) {
    for (const [name, server] of Object.entries(servers))
      cells.push({ round, what, name, ...(await measure({ server, requests, status, ms: seconds * 1000 })) });
  }
}

const figures = [
  ['perSecond', 'requests/s', 0],
  ['perCore', 'requests/s of a core', 0],
  ['p50Ms', 'p50 ms', 2],
  ['p99Ms', 'p99 ms', 2],
];
const shown = ({ median, min, max }, digits) => {
  const [a, b, c] = [median, min, max].map((n) => n.toLocaleString('en', { maximumFractionDigits: digits, minimumFractionDigits: digits }));
  return `${a} (${b}..${c})`;
};
for (const [what, { title }] of Object.entries(asked)) {
  const of = (name) => cells.filter((cell) => cell.what === what && cell.name === name);
  const rows = Object.keys(servers).map((name) => [
    name,
    ...figures.map(([figure, , digits]) => shown(spread(of(name).map((cell) => cell[figure])), digits)),
  ]);
  console.log(aligned([[title, ...figures.map(([, head]) => head)], ...rows]).join('\n'));
  for (const name of Object.keys(servers).slice(1)) {
    const bare = of('bare Fastify');
    const { median: value, min, max } = spread(of(name).map(({ perCore }, round) => perCore / bare[round].perCore));
    const goal = judged({ text: `${name}, of a core`, value, min, max, over: 'bare Fastify', bound: 'at least', must: 0.7 });
    console.log(verdictLine(goal));
  }
  console.log();
}

const wrong = cells.reduce((sum, cell) => sum + cell.wrong, 0);
const text = await (await fetch(`http://127.0.0.1:${shared.port}/metrics`)).text();
const degraded = Number(/^headgate_degraded_total (\d+)/m.exec(text)?.[1]);
console.log(`answers with another status: ${wrong}; degraded: ${degraded}`);
for (const server of Object.values(servers)) server.stop();
control.disconnect();
await redis.stop();
process.exitCode = wrong === 0 && degraded === 0 ? 0 : 1;
process.exit();
