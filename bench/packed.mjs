// npm run bench:packed: Redis's bytes and CPU per client for several ways to keep token buckets. See README.md.
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
const layouts = allLayouts.filter(({ name }) => name.includes(values.only));
const macs = macsOf(clients);

async function about() {
  const server = await startRedis();
  const control = new Redis({ host: server.host, port: server.port });
  const line = aboutLine(await describe(control, ['ioredis']));
  const allocator = /mem_allocator:(\S+)/.exec(await control.info('memory'))[1];
  const limits = await control.config('GET', '*-max-listpack-*');
  control.disconnect();
  await server.stop();
  return `${line}, ${allocator}; ${limits
    .filter((_, i) => i % 2 === 0)
    .map((name, i) => `${name} ${limits[2 * i + 1]}`)
    .join(', ')}`;
}

// Each Redis of its own listens for the end of this process.
process.setMaxListeners(layouts.length + 20);
const say = (text) => process.stderr.write(`${text}\n`);

console.log(`${await about()}\n${clients.toLocaleString('en')} clients\n`);

const results = new Map(layouts.map((layout) => [layout, {}]));
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
  results.get(layout).idle = await measureIdle(layout, { macs, clients, ofTenth: results.get(layout).ofTenth });
}

function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
const spread = (numbers) => `${median(numbers).toFixed(2)} (${Math.min(...numbers).toFixed(2)}..${Math.max(...numbers).toFixed(2)})`;
const left = ({ bytes, states }) => `${bytes.toFixed(1)} / ${(100 * states).toFixed(1)} %`;

const titles = [
  'layout',
  'encoding',
  'bytes/client',
  'of a tenth',
  'script us/check',
  'Redis CPU us/check',
  'idle soon',
  'idle later',
  'wrong',
];
const lines = layouts.map((layout) => {
  const { encoding, packs, bytes, bytesOfTenth, cpu, idle, right } = results.get(layout);
  return [
    layout.name,
    packs === undefined ? encoding : `${encoding}, ${(clients / packs).toFixed(1)} each`,
    bytes.toFixed(1),
    bytesOfTenth.toFixed(1),
    spread(cpu.map(({ scriptUs }) => scriptUs)),
    spread(cpu.map(({ cpuUs }) => cpuUs)),
    left(idle.soon),
    left(idle.later),
    `${right.wrong} of ${right.checks}`,
  ];
});
console.log(aligned([titles, ...lines]).join('\n'));
console.log('\nNot measured: a TTL for each field of a hash (HPEXPIRE), which needs Redis 7.4.');
