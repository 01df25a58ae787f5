// One of the processes that ask. It holds several apps, each with a limiter and a connection of its own, as app processes have: that many
// real processes would need more of the machine's cores than Redis leaves them.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { createLimiter } from 'headgate';
import { redisStore } from 'headgate/redis';
import { countingClient } from '../local/counting.mjs';
import { fill, keyRing } from '../measure.mjs';
import { cases, rules } from './cases.mjs';
import { obey } from '../obey.mjs';

/** After a stall no more than this is caught up with: else it would be followed by another load than the case's. */
const mostBehindMs = 20;
/**
 * Bursts of an app on their way at once: Headgate has two calls on their way, and what is asked beyond them would travel together, in
 * fuller calls than the case says. In the process there is nothing to fill.
 */
const mostUnderWay = { exact: 2, inProcess: 100 };

let ring;
const apps = [];

/** A store that counts the groups it is asked to decide: of a lease, the lots; of an exact rule, the requests. */
function countingStore(store) {
  let asks = 0;
  const counting = {
    ...store,
    decide(group, ticket) {
      asks += 1;
      return store.decide(group, ticket);
    },
    ask(group, call) {
      asks += 1;
      store.ask(group, call);
    },
  };
  return { store: counting, asks: () => asks };
}

async function openApp({ server, next, fleetSize }) {
  const { client, calls } = countingClient(server);
  const { store, asks } = countingStore(redisStore({ client }));
  // Busy cores must not turn decisions into degraded ones.
  const limiter = createLimiter({ store, deadline: '2s', fleetSize, rules });
  await limiter.ready();
  return { limiter, calls, asks, next, due: 0, underWay: 0 };
}

const askOf = (limiter, names) =>
  names.length === 1 ? (key) => limiter.check(names[0], key) : (key) => limiter.checkAll(names.map((rule) => ({ rule, key })));

const sumOf = (count) => apps.reduce((sum, app) => sum + app[count](), 0);

/** What this process has used and sent so far: its CPU time, calls (heartbeats apart), and groups asked of the store. */
function used() {
  const { user, system } = process.cpuUsage();
  return { clientUs: user + system, calls: sumOf('calls'), asks: sumOf('asks') };
}

/** An open loop: `perSecond` bursts with random gaps, as callers make who know nothing of each other. */
async function drive({ name, perSecond, keys, ms }) {
  const { rules: names, burst, inProcess = false, refused = false } = cases[name];
  const most = inProcess ? mostUnderWay.inProcess : mostUnderWay.exact;
  const gapMs = (apps.length * 1000) / perSecond;
  const nextGap = () => -Math.log(1 - Math.random()) * gapMs;
  // Made before anything is measured.
  const latencies = new Float64Array(Math.ceil((perSecond * ms) / 500) + 1000);
  const asking = apps.map((app) => askOf(app.limiter, names));
  let [checks, wrong, timed] = [0, 0, 0];

  const keyFor = (app) => {
    // Keys in turn would have their leases run out together, and asked for in one call.
    app.next = inProcess ? Math.floor(Math.random() * keys) : (app.next + 1) % keys;
    return ring[app.next];
  };
  const askBurst = async (app, ask) => {
    app.underWay += 1;
    const asked = performance.now();
    const answers = await Promise.all(Array.from({ length: burst }, () => ask(keyFor(app))));
    if (timed < latencies.length) latencies[timed++] = performance.now() - asked;
    for (const { allowed } of answers) if (allowed === refused) wrong += 1;
    checks += burst;
    app.underWay -= 1;
  };

  const before = used();
  const start = performance.now();
  for (const app of apps) app.due = start + nextGap();
  for (let now = start; now < start + ms; now = performance.now()) {
    for (const [i, app] of apps.entries()) {
      if (app.due > now || app.underWay >= most) continue;
      void askBurst(app, asking[i]);
      app.due = Math.max(app.due + nextGap(), now - mostBehindMs);
      // Each app writes by itself, and at most once before the clock is looked at again.
      await nextTurn();
    }
    await sleep(1);
  }
  const took = performance.now() - start;
  while (apps.some(({ underWay }) => underWay > 0)) await sleep(1);
  const after = used();
  const use = Object.fromEntries(Object.keys(after).map((figure) => [figure, after[figure] - before[figure]]));
  return { checks, wrong, ms: took, ...use, latencies: latencies.slice(0, timed) };
}

const verbs = {
  async open({ server, part, keys, perProcess, fleetSize }) {
    ring = keyRing(keys);
    // Apps walk over the same keys, each from another place.
    const next = (i) => Math.floor((part + i / fleetSize) * keys);
    apps.push(...(await Promise.all(Array.from({ length: perProcess }, (_, i) => openApp({ server, next: next(i), fleetSize })))));
  },
  fill: ({ names }) => fill({ ask: askOf(apps[0].limiter, names), keys: ring }),
  drive,
  async close() {
    const degraded = apps.reduce((sum, { limiter }) => sum + limiter.stats().degraded, 0);
    await Promise.all(apps.map(({ limiter }) => limiter.close()));
    return degraded;
  },
};

obey(verbs);
