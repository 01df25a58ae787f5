// npm run bench:packed: bytes and CPU of Redis per client for several ways to keep token buckets in it. See README.md.
import { Redis } from 'ioredis';
import { parseArgs } from 'node:util';
import { startRedis } from '../tools/redis.mjs';
import { aboutLine, describe } from './about.mjs';
import { macsOf } from './packed/clients.mjs';
import { allLayouts } from './packed/layouts.mjs';
import { measureBytes, measureCpu, measureIdle, measureWrong } from './packed/measures.mjs';
import { startSubject } from './packed/subject.mjs';
import { aligned } from './table.mjs';

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
  },
});
const [clients, rounds, seconds] = [values.clients, values.rounds, values.seconds].map(Number);
const layouts = allLayouts.filter(({ name }) => new RegExp(values.only).test(name));
const macs = macsOf(clients);
/** Checks of each active client after which it is looked at what idle ones have left. */
const idleAfter = [1, 3, 9];
const results = new Map(layouts.map((layout) => [layout, {}]));

// Each Redis of its own listens for the end of this process.
process.setMaxListeners(layouts.length + 20);
const say = (text) => process.stderr.write(`${text}\n`);

async function about() {
  const server = await startRedis();
  const control = new Redis({ host: server.host, port: server.port });
  const line = aboutLine(await describe(control, ['ioredis']));
  const allocator = /mem_allocator:(\S+)/.exec(await control.info('memory'))[1];
  const [, entries] = await control.config('GET', 'hash-max-listpack-entries');
  const [, value] = await control.config('GET', 'hash-max-listpack-value');
  control.disconnect();
  await server.stop();
  return `${line}; ${allocator}, hash-max-listpack-entries ${entries}, hash-max-listpack-value ${value}`;
}

async function measureAll() {
  for (const layout of layouts) {
    say(`right or wrong: ${layout.name}`);
    results.get(layout).right = await measureWrong(layout, { macs, seconds });
  }
  // All are there at once, so that they can be asked in turns.
  const subjects = [];
  for (const layout of layouts) {
    say(`bytes: ${layout.name}`);
    const subject = await startSubject(layout, { macs, clients });
    Object.assign(results.get(layout), await measureBytes(subject, clients), { packs: subject.packs });
    subjects.push(subject);
  }
  say('CPU');
  for (const [subject, cpu] of await measureCpu(subjects, { clients, rounds, seconds })) results.get(subject.layout).cpu = cpu;
  for (const subject of subjects) await subject.stop();
  for (const layout of layouts) {
    say(`idle: ${layout.name}`);
    results.get(layout).idle = await measureIdle(layout, { macs, clients, after: idleAfter });
  }
}

function spread(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return `${sorted[Math.floor(sorted.length / 2)].toFixed(2)} (${sorted[0].toFixed(2)}..${sorted.at(-1).toFixed(2)})`;
}
const left = ({ bytes, states }) => `${Math.max(0, bytes).toFixed(1)} (${(100 * states).toFixed(0)} %)`;

const columns = {
  encoding: ({ encoding, packs }) => (packs === undefined ? encoding : `${encoding}, ${(clients / packs).toFixed(1)} each`),
  'bytes/client': ({ bytes }) => bytes.toFixed(1),
  'a tenth alone': ({ bytesOfTenth }) => bytesOfTenth.toFixed(1),
  'script us/check': ({ cpu }) => spread(cpu.map(({ scriptUs }) => scriptUs)),
  'Redis CPU us/check': ({ cpu }) => spread(cpu.map(({ cpuUs }) => cpuUs)),
  [`bytes/idle client after ${idleAfter.join(', ')}`]: ({ idle }) => idle.map(left).join(', '),
  wrong: ({ right: { wrong, checks } }) => `${wrong} of ${checks}`,
};

console.log(`${await about()}\n${clients.toLocaleString('en')} clients\n`);
await measureAll();
const rows = layouts.map((layout) => [layout.name, ...Object.values(columns).map((show) => show(results.get(layout)))]);
console.log(aligned([['layout', ...Object.keys(columns)], ...rows]).join('\n'));
console.log('\nNot measured: a TTL for each field of a hash (HPEXPIRE); it needs Redis 7.4.');
