// One process of several that share limits: asks what it is told, from one moment to another, and tells what it was answered.
import { setTimeout as sleep } from 'node:timers/promises';
import * as headgate from 'headgate';
import { redisStore } from 'headgate/redis';
import { countingClient } from './counting.mjs';

/** Milliseconds between two looks at the clock. */
const everyMs = 2;
/** How long the last answers are waited for. */
const patienceMs = 5000;

const { memoryStore, createLimiter } = headgate;
const message = () => new Promise((resolve) => process.once('message', resolve));
// Whoever started it is gone.
process.on('disconnect', () => process.exit());

// The one clock that all processes of a machine share, in milliseconds.
const sharedNow = () => Number(process.hrtime.bigint()) / 1e6;

/** A limiter of its own for each system, so that what it sends is its own. */
function start({ store, limit: [maker, options], mode }, { host, port, deadline, fleetSize }) {
  const counting = store === 'redis' ? countingClient({ host, port }) : undefined;
  const limiter = createLimiter({
    store: counting ? redisStore({ client: counting.client }) : memoryStore(),
    deadline,
    fleetSize,
    onEvent: () => undefined,
    rules: { api: { limit: headgate[maker](options), ...(mode && { mode }) } },
  });
  return { limiter, calls: counting?.calls ?? (() => 0) };
}

/** How many checks of a series are due so many milliseconds after its start. */
function dueOf({ perSecond, phase = 0, bursts, size }) {
  if (bursts === undefined) return (ms) => Math.floor((ms * perSecond) / 1000 + phase);
  let passed = 0;
  return (ms) => {
    while (passed < bursts.length && bursts[passed] <= ms) passed += 1;
    return passed * size;
  };
}

function open(series, { limiter, calls }, record) {
  const said = { asked: 0, answered: 0, admitted: 0, degraded: 0, errors: [], decided: [], firstAskedAt: 0, lastAnsweredAt: 0 };
  const callsBefore = calls();
  const take = ({ allowed, degraded, decidedAt }) => {
    said.answered += 1;
    if (allowed) said.admitted += 1;
    if (degraded) said.degraded += 1;
    said.lastAnsweredAt = sharedNow();
    if (record) said.decided.push(allowed ? decidedAt : -decidedAt);
  };
  const fail = (error) => {
    said.answered += 1;
    said.errors.push(String(error?.stack ?? error));
  };
  const ask = () => {
    if (said.asked === 0) said.firstAskedAt = sharedNow();
    said.asked += 1;
    limiter.check('api', series.key).then(take, fail);
  };
  const close = () => ({ ...said, decided: Float64Array.from(said.decided), calls: calls() - callsBefore });
  return { said, due: dueOf(series), ask, close };
}

/** An open loop: asks for what is due whatever becomes of the answers, and after a stall for what was missed. */
async function run({ startAt, endAt, series, record = false }, systems) {
  const running = series.map((one) => open(one, systems[one.system], record));
  await sleep(startAt - sharedNow());
  for (let now = sharedNow(); now < endAt; now = sharedNow()) {
    for (const { said, due, ask } of running) for (const until = due(now - startAt); said.asked < until;) ask();
    await sleep(everyMs);
  }
  const waitUntil = sharedNow() + patienceMs;
  while (running.some(({ said }) => said.answered < said.asked) && sharedNow() < waitUntil) await sleep(everyMs);
  return running.map(({ close }) => close());
}

const { systems: specs, ...options } = await message();
const systems = Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, start(spec, options)]));
// Many processes that start on few cores are slower than any deadline.
const reached = (limiter) =>
  limiter.ready().then(
    () => true,
    () => reached(limiter),
  );
await Promise.all(Object.values(systems).map(({ limiter }) => reached(limiter)));
process.send({ ready: true });
process.on('message', async (order) => {
  if (order.end) {
    await Promise.all(Object.values(systems).map(({ limiter }) => limiter.close()));
    process.exit();
  }
  process.send(await run(order, systems));
});
