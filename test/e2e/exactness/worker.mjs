// One process of many: asks as fast as it is answered, from several loops at once, and records every answer.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createLimiter } from 'headgate';
import { redisStore } from 'headgate/redis';
import { racyStore } from './racy-store.mjs';
import { Recorder } from './recorder.mjs';
import { keys, planOfKey, rulesFrom, table } from './rules.mjs';

/** mulberry32: small, and the same everywhere. */
function random(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

async function run({ number, url, seed, ms, loops, most, store, pauseMs, bursts = true }, go) {
  const next = random(seed * 1000 + number);
  const below = (n) => Math.floor(next() * n);
  const pick = (list) => list[below(list.length)];
  const names = Object.keys(table).filter((name) => store === 'redis' || !table[name].back);
  const client = new Redis(url);
  const limiter = createLimiter({
    store: store === 'redis' ? redisStore({ client }) : racyStore(client),
    deadline: '2s',
    // What the store says is compared with the model: no note stands in for it.
    notes: { max: 0 },
    rules: rulesFrom(names),
  });
  const recorder = new Recorder(number);
  await limiter.ready();
  await go();

  function ask(rule, key, cost = next() < 0.6 ? 1 : 1 + below(5)) {
    const { plans, mixed } = table[rule];
    const plan = mixed ? pick([undefined, 'pro']) : plans && planOfKey[key];
    return { rule, key, cost, ...(plan === undefined ? undefined : { plan }) };
  }
  const decide = (kind, asked, call) => recorder.decide(kind, asked, call);
  const peek = ({ rule, key, ...options }) => limiter.peek(rule, key, options);
  const single = ({ rule, key, ...options }) => limiter.check(rule, key, options);

  /** Gives back, settles or releases, some time later; now and then twice, which must count once. */
  async function correct(taken, index, reservation) {
    const decision = taken.decisions[index];
    const { rule, key, cost } = decision;
    const look = () => decide('peek', [ask(rule, key)], ([a]) => peek(a));
    /** Looked at before and after, so that its bracket is as narrow as two round trips. */
    const note = async (verb, asked, call) => {
      await look();
      await recorder.correct({ verb, decision: taken.id, check: index, asked }, call);
      await look();
    };
    await sleep(below(25));
    if (rule === 'jobs') {
      for (let extensions = below(3); extensions > 0; extensions -= 1) {
        await note('extend', 0, async () => Number(await limiter.extend(decision)));
        await sleep(below(50));
      }
      return note('release', 0, async () => Number(await limiter.release(decision)));
    }
    if (reservation) {
      const actual = below(cost + (rule.startsWith('spend') ? 4 : 1));
      if (actual === cost) return undefined;
      const settle = () => (actual === 0 ? reservation.cancel() : reservation.settle(actual));
      const [verb, units, field] = actual < cost ? ['return', cost - actual, 'returned'] : ['charge', actual - cost, 'charged'];
      return note(verb, units, async () => (await settle())[field]);
    }
    if (next() < 0.7) return note('return', cost, () => limiter.refund(decision));
    const receipt = limiter.receipt(decision);
    return Promise.all([1, 2].map(() => note('return', cost, () => limiter.refund(receipt))));
  }

  const underWay = new Set();
  function perhapsCorrect(taken, reservation) {
    taken.decisions.forEach((decision, index) => {
      if (!table[decision.rule].back || !taken.allowed || (!reservation && next() < 0.4)) return;
      const work = correct(taken, index, reservation).finally(() => underWay.delete(work));
      underWay.add(work);
    });
  }

  async function step() {
    const key = pick(keys);
    const rule = pick(names);
    const dice = next();
    if (dice < 0.55) perhapsCorrect(await decide('check', [ask(rule, key)], (a) => single(a[0])));
    else if (dice < 0.75) {
      const rules = new Set([rule, pick(names), pick(names)]);
      if (rules.size > 1)
        perhapsCorrect(
          await decide(
            'group',
            [...rules].map((name) => ask(name, key)),
            (a) => limiter.checkAll(a),
          ),
        );
    } else if (dice < 0.85 && bursts) {
      // A burst of one turn of the loop: one script call.
      const name = next() < 0.3 ? 'fast' : rule;
      const burst = Array.from({ length: 2 + below(5) }, () => decide('check', [ask(name, key)], (a) => single(a[0])));
      for (const taken of await Promise.all(burst)) perhapsCorrect(taken);
    } else if (dice < 0.93 || !table[rule].back || rule === 'jobs') {
      await decide('peek', [ask(rule, key)], ([a]) => peek(a));
    } else {
      let reservation;
      const reserve = async ([{ rule: name, key: of, ...options }]) => (reservation = await limiter.reserve(name, of, options)).decision;
      perhapsCorrect(await decide('check', [ask(rule, key)], reserve), reservation);
    }
  }

  const until = performance.now() + ms;
  const loop = async () => {
    while (performance.now() < until && recorder.decisions.length < most) {
      await step();
      if (pauseMs > 0 && next() < 0.5) await sleep(below(pauseMs));
    }
  };
  await Promise.all(Array.from({ length: loops }, loop));
  await Promise.all(underWay);
  // The last corrections are bracketed by one more decision.
  await decide('peek', [ask('slow', 'a')], ([a]) => peek(a));
  const { degraded, unreturned } = limiter.stats();
  await limiter.close();
  client.disconnect();
  return { ...recorder.history(), degraded, unreturned };
}

process.once('message', async (options) => {
  const go = () =>
    new Promise((resolve) => {
      process.once('message', resolve);
      process.send({ ready: true });
    });
  const result = await run(options, go);
  process.send(result, () => process.disconnect());
});
