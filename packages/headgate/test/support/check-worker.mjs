// A server of its own: makes a limiter over Redis, then answers each job with how its checks were decided.
// A skewed clock is set before the library is loaded.
const skewMs = Number(process.argv[2] ?? 0);
const { now } = Date;
Date.now = () => now() + skewMs;

const { createLimiter, ...makers } = await import('headgate');
const { redisStore } = await import('headgate/redis');
const { Cluster, Redis } = await import('ioredis');

let clients = {};
let limiter;

function storeOptions(store) {
  if (store.shards !== undefined) {
    clients = Object.fromEntries(Object.entries(store.shards).map(([name, url]) => [name, new Redis(url)]));
    return { clients };
  }
  clients = { only: store.cluster === undefined ? new Redis(store) : new Cluster([store.cluster]) };
  return { client: clients.only };
}

const jobs = {
  /** `rules`: for each name its maker and the maker's options. */
  async start({ store, rules }) {
    const options = storeOptions(store);
    const made = Object.fromEntries(Object.entries(rules).map(([name, [maker, options]]) => [name, { limit: makers[maker](options) }]));
    limiter = createLimiter({ store: redisStore(options), deadline: '2s', rules: made });
    await limiter.ready();
  },
  async check({ rule, key, times, parallel = true }) {
    const decisions = [];
    const ask = async () => void decisions.push(await limiter.check(rule, key));
    if (parallel) await Promise.all(Array.from({ length: times }, ask));
    else for (let i = 0; i < times; i += 1) await ask();
    return {
      passed: decisions.filter(({ allowed }) => allowed).length,
      degraded: decisions.filter(({ degraded }) => degraded).length,
      waitsMs: decisions.filter(({ allowed }) => !allowed).map(({ retryAfterMs }) => retryAfterMs),
    };
  },
  async stop() {
    await limiter?.close();
    for (const client of Object.values(clients)) client.disconnect();
    process.disconnect();
  },
};

process.on('message', async ({ id, job, ...options }) => {
  try {
    const result = await jobs[job](options);
    if (process.connected) process.send({ id, result });
  } catch (error) {
    process.send({ id, error: String(error?.stack ?? error) });
  }
});
process.send({ ready: true });
