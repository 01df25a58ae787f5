// One app process of several: asks at its pace, whatever happens to Redis, and records every answer.
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter } from 'headgate';
import { redisStore } from 'headgate/redis';
import { openClient } from './clients.mjs';
import { pace } from './pace.mjs';
import { names, rules, table } from './rules.mjs';

const errors = [];
const fail = (what) => (error) => void errors.push(`${what}: ${error?.stack ?? error}`);
process.on('unhandledRejection', fail('unhandled rejection'));
process.on('uncaughtException', fail('uncaught exception'));

const origin = Date.now() - performance.now();
const wall = () => origin + performance.now();
const pick = (list) => list[Math.floor(Math.random() * list.length)];

function busyFor(ms) {
  for (const until = performance.now() + ms; performance.now() < until;);
}

/** What the process does when it is told to, until it is told to stop. */
function begin({ limiter, perSecond, keys }) {
  const answers = [];
  const waiting = new Set();

  /** Ends a holder some time later. What it surely held until is told in the time of its own decision, so that no clocks are compared. */
  async function release(decision, answer) {
    const from = performance.now();
    await sleep(10 + Math.random() * 20);
    answer.until = decision.decidedAt + Math.floor((performance.now() - from) * 1000);
    await limiter.release(decision).catch(fail('release'));
  }

  function ask() {
    const rule = pick(names);
    // A third of all for one key, the rest spread evenly.
    const key = Math.random() < 1 / 3 ? keys[0] : pick(keys);
    const asked = performance.now();
    const done = limiter
      .check(rule, key)
      .then((decision) => {
        const took = performance.now() - asked;
        const { decidedAt: at, resetAfterMs, allowed, source, degraded, reason } = decision;
        const answer = { rule, key, asked: origin + asked, took, at, resetAfterMs, allowed, source, degraded, reason };
        answers.push(answer);
        return rule === 'jobs' && allowed ? release(decision, answer) : undefined;
      })
      .catch(fail(`check ${rule}`))
      .finally(() => waiting.delete(done));
    waiting.add(done);
  }

  const { turns, stop } = pace({ perSecond, wall, ask });
  return {
    ask,
    async end() {
      stop();
      // Some answer that never comes must not hold up the rest.
      await Promise.race([Promise.all(waiting), sleep(5000)]);
      return { answers, turns, unanswered: waiting.size, stats: limiter.stats(), errors, table };
    },
  };
}

const message = () => new Promise((resolve) => process.once('message', resolve));
const { client: kind, connect, deadline, ...load } = await message();
const { client, close } = openClient(kind, connect);
const limiter = createLimiter({ store: redisStore({ client }), deadline, rules });
await limiter.ready();
process.send({ ready: true });
await message();
const running = begin({ limiter, ...load });

process.on('message', async (order) => {
  if (order.stall) {
    // What is on its way then has been sent, or, in the same turn of the event loop, has not.
    for (let i = 0; i < 5; i += 1) running.ask();
    if (order.sameTurn) busyFor(order.stall);
    else setImmediate(busyFor, order.stall);
    return;
  }
  const result = await running.end();
  await limiter.close().catch(fail('close'));
  close();
  process.send(result, () => process.disconnect());
});
