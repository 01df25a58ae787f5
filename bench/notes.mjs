// npm run bench:notes: what a noted refusal costs, beside what any answer from memory must cost. See README.md.
import { createLimiter, fixedWindow, memoryStore, systemClock } from 'headgate';
import { notes } from '../packages/headgate/dist/layers/notes.js';

const rounds = 5;
const keys = Array.from({ length: 100_000 }, (_, i) => `key-${i}`);
const limit = fixedWindow({ limit: 0, window: '1d' });

const system = systemClock();
const began = system.nowUs();
/** Costs what the system's clock costs, and runs a thousand times slower: no note is over before it was measured. */
const clock = { ...system, nowUs: () => began + Math.floor((system.nowUs() - began) / 1000) };

/** A store that is not "local", so that the layers are before it as before Redis. */
function sharedStore() {
  const { local: _, ...store } = memoryStore({ maxKeys: 1_000_000 });
  return store;
}

const limiter = createLimiter({ store: sharedStore(), deadline: '2s', fleetSize: 1, clock, rules: { closed: { limit } } });

/** In bursts, as a busy server asks; answers questions per second. */
async function drive(count, ask) {
  const from = performance.now();
  for (let i = 0; i < count;) {
    const burst = [];
    for (let j = 0; j < 200; j += 1, i += 1) burst.push(ask(i));
    await Promise.all(burst);
  }
  return (count * 1000) / (performance.now() - from);
}

/** The same of checks that a note must refuse. */
async function driveNoted(count, keyOf) {
  const before = limiter.stats().noted;
  const perSecond = await drive(count, (i) => limiter.check('closed', keyOf(i)));
  const missed = count - (limiter.stats().noted - before);
  if (missed > 0) throw new Error(`${missed} checks were not refused by a note`);
  return perSecond;
}

/** A note for each key, by the layer alone over a store that only refuses: milliseconds. */
async function addNotes() {
  const refusal = { allowed: false, taken: 0, remaining: 0, retryAfterUs: 1e9, resetAfterUs: 1e9, reason: 'limited' };
  const answer = { now: 0, allowed: false, outcomes: [refusal], source: 'store', degraded: false };
  const layer = notes({ store: { decide: () => Promise.resolve(answer) }, max: keys.length, clock: system });
  const groups = keys.map((key) => ({ checks: [{ rule: 'closed', key, limit, cost: 1 }] }));
  const perSecond = await drive(groups.length, (i) => layer.decide(groups[i]));
  if (layer.notes().size !== keys.length) throw new Error(`${layer.notes().size} notes`);
  return (keys.length * 1000) / perSecond;
}

const bare = new Map(keys.map((key) => [key, { until: Number.POSITIVE_INFINITY }]));
const scattered = (i) => keys[(i * 7919) % keys.length];
const perSecond = {
  'one key, noted': () => driveNoted(500_000, () => keys[0]),
  '100,000 keys, noted': () => driveNoted(500_000, scattered),
  'bare Map, object, promise': () =>
    drive(500_000, async (i) => ({ allowed: bare.get(scattered(i)) === undefined, key: keys[0], retryAfterMs: 1 })),
};

await drive(keys.length, (i) => limiter.check('closed', keys[i]));
const figures = Object.fromEntries([...Object.keys(perSecond), 'added'].map((name) => [name, []]));
// The first round warms up.
for (let round = 0; round <= rounds; round += 1) {
  for (const [name, run] of Object.entries({ ...perSecond, added: addNotes })) {
    const figure = await run();
    if (round > 0) figures[name].push(figure);
  }
}
await limiter.close();

const goals = { 'one key, noted': 1_000_000, '100,000 keys, noted': 400_000, added: 200 };
const show = (value) => Math.round(value).toLocaleString('en');
for (const [name, values] of Object.entries(figures)) {
  const [least, median, most] = [0, rounds >> 1, rounds - 1].map((at) => values.sort((a, b) => a - b)[at]);
  const added = name === 'added';
  const goal = goals[name];
  const met = goal !== undefined && (added ? median < goal : median >= goal);
  console.log(
    `${(added ? '100,000 notes added' : name).padEnd(26)} ${show(median).padStart(10)} ${added ? 'ms' : 'decisions/s'} ` +
      `(${show(least)} to ${show(most)})${goal === undefined ? '' : `; goal ${show(goal)} ${met ? 'met' : 'NOT MET'}`}`,
  );
}
