// One process of a load: asks at its pace whatever becomes of the answers, and says how it does when it is asked.
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter } from 'headgate';
import { redisStore } from 'headgate/redis';
import { openClient } from '../chaos/clients.mjs';
import { pace } from '../chaos/pace.mjs';
import { limitOf } from './exactness/rules.mjs';

const message = () => new Promise((resolve) => process.once('message', resolve));
const errors = [];
const fail = (error) => void errors.push(String(error?.stack ?? error));
process.on('unhandledRejection', fail);
// Whoever started it is gone.
process.on('disconnect', () => process.exit());

const { port, number, rules: specs, keyed, mostWaiting = Infinity, ...options } = await message();
const { client, close } = openClient('ioredis', { topology: 'single', port });
const rules = Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, { limit: limitOf(spec) }]));
const names = Object.keys(rules);
const limiter = createLimiter({ store: redisStore({ client }), rules, onEvent: () => undefined, ...options });
// Fifteen processes that start on two cores are slower than any deadline.
while (
  !(await limiter.ready().then(
    () => true,
    () => false,
  ))
);

let asked = 0;
let answered = 0;
const bySource = {};
/** When what passed was decided, in microseconds by the store's clock; of one key only, as many would fill the heap. */
const passedAt = [];

function take({ allowed, source, decidedAt }) {
  answered += 1;
  bySource[source] = (bySource[source] ?? 0) + 1;
  if (allowed && keyed === 'one') passedAt.push(decidedAt);
}

function ask() {
  if (asked - answered >= mostWaiting) return;
  const key = keyed === 'one' ? 'attacked' : `${number}-${asked}`;
  limiter.check(names[asked % names.length], key).then(take, fail);
  asked += 1;
}

function look() {
  globalThis.gc?.();
  return { asked, answered, bySource, passedAt, stats: limiter.stats(), heapUsed: process.memoryUsage().heapUsed, errors };
}

process.send({ ready: true });
let running;
process.on('message', async (order) => {
  if (order.perSecond) {
    running?.stop();
    running = pace({ perSecond: order.perSecond, wall: performance.now.bind(performance), ask });
  }
  if (order.halt) {
    running.stop();
    for (let waits = 0; answered < asked && waits < 500; waits += 1) await sleep(10);
  }
  process.send(look());
  if (!order.end) return;
  await limiter.close();
  close();
  process.exit();
});
