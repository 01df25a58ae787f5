// npm run bench:memory: what a client costs Redis, and a note and a lease this process. See README.md.
import { Redis } from 'ioredis';
import { createLimiter, tokenBucket } from 'headgate';
import { redisStore } from 'headgate/redis';
import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { startRedis } from '../tools/redis.mjs';
import { aboutLine, describe } from './about.mjs';
import { bytesPerLease, bytesPerNote } from './heap.mjs';
import { judged } from './summary.mjs';
import { systems } from './systems/index.mjs';
import { verdictLine } from './table.mjs';

const { values } = parseArgs({
  options: { clients: { type: 'string', default: '1000000' }, counted: { type: 'string', default: '100000' } },
});
const [clients, counted] = [Number(values.clients), Number(values.counted)];

/** So slow that no counter expires before it is measured, though each client has used little. */
const limit = tokenBucket({ capacity: 1000, refill: '10/h' });
/** As many checks of each client: the first leaves a state that is shorter than the later ones. */
const checksEach = 2;

async function headgate({ servers: [server], keySecret }) {
  const client = new Redis(server);
  const limiter = createLimiter({
    store: redisStore({ client, ...(keySecret && { keySecret }) }),
    deadline: '5s',
    fleetSize: 1,
    rules: { api: { limit } },
  });
  await limiter.ready();
  return {
    ask: (key) => limiter.check('api', key),
    passed: ({ allowed, degraded }) => allowed && !degraded,
    async close() {
      await limiter.close();
      client.disconnect();
    },
  };
}

async function connect(server) {
  const client = new Redis({ ...server, lazyConnect: true });
  await client.connect();
  return client;
}

const settings = { rules: 1, cost: 1, refuse: false, most: 1000, refill: '10/h', windowSeconds: 24 * 3600 };
const other = (name) => (server) => systems[name].start({ ...settings, servers: [server], connect: () => connect(server) });

const measured = {
  'Headgate, keySecret': (server) => headgate({ servers: [server], keySecret: 'a secret of the bench' }),
  Headgate: (server) => headgate({ servers: [server] }),
  'rate-limiter-flexible': other('flexible'),
  'rate-limit-redis': other('rlr'),
  'raw EVALSHA': other('raw'),
};

/** The i-th client: an address of IPv6, as they reach a server. */
const clientKey = (i) => createHash('sha1').update(String(i)).digest('hex').slice(0, 32).match(/.{4}/g).join(':');

/** What Redis needs for each client more than for none: keys, tables and allocator, and all that is kept beside them. */
async function bytesPerClient(start) {
  const server = await startRedis();
  const { host, port } = server;
  const control = new Redis({ host, port });
  const used = async () => Number(/used_memory:(\d+)/.exec(await control.info('memory'))[1]);
  const system = await start({ host, port });
  // Scripts and connections are there before the first client.
  await system.ask('nobody');
  const before = await used();
  const keysBefore = await control.dbsize();
  let next = 0;
  const worker = async () => {
    while (next < clients * checksEach) {
      if (!system.passed(await system.ask(clientKey(next++ % clients)))) throw new Error('a check was refused or degraded');
    }
  };
  await Promise.all(Array.from({ length: 512 }, worker));
  const bytes = ((await used()) - before) / clients;
  const keys = (await control.dbsize()) - keysBefore;
  await system.close();
  control.disconnect();
  await server.stop();
  if (Math.abs(keys - clients) > 10) throw new Error(`${keys} keys of ${clients} clients`);
  return bytes;
}

const whole = (n) => Math.round(n).toLocaleString('en');
const server = await startRedis();
const control = new Redis({ host: server.host, port: server.port });
console.log(`${aboutLine(await describe(control, ['headgate', 'ioredis', 'rate-limiter-flexible', 'rate-limit-redis']))}\n`);

const notes = await bytesPerNote(counted);
const leases = await bytesPerLease({ count: counted, server: { host: server.host, port: server.port } });
control.disconnect();
await server.stop();
console.log(`heap per note, of ${whole(counted)}: ${whole(notes)} bytes; per lease: ${whole(leases)} bytes\n`);

console.log(`bytes of Redis memory per active client, of ${whole(clients)}:`);
const found = {};
for (const [name, start] of Object.entries(measured)) {
  found[name] = await bytesPerClient(start);
  console.log(`${name.padEnd(22)} ${found[name].toFixed(1).padStart(8)}`);
}
const goal = { value: found['Headgate, keySecret'], bound: 'at most', must: 160, aim: 60 };
console.log(`\n${verdictLine(judged({ ...goal, text: 'Redis bytes per active client' }))}`);
