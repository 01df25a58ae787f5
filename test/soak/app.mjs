import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter } from 'headgate';
import { redisStore } from 'headgate/redis';
import { openClient } from '../chaos/clients.mjs';
import { callers as makeCallers } from './callers.mjs';
import { census } from './census.mjs';
import { cpuUse } from './cpu.mjs';
import { figures } from './figures.mjs';
import { pace } from './pace.mjs';
import { reloads } from './reloads.mjs';
import { remains as makeRemains } from './remains.mjs';
import { rules } from './rules.mjs';
import { verbs } from './verbs.mjs';
import { visitors as makeVisitors } from './visitors.mjs';

/** Longer than any verb takes, by its own account. */
const tooLongMs = 5000;
/** The timer by which verbs are given up holds a limiter that was just closed for a second. */
const farewellMs = 1200;
/** Sockets that were closed are gone by then. */
const settleMs = 50;

/** An app that uses a limiter in every way there is. */
export async function openApp({ client: kind, connect, deadline, perSecond, rampMs }, counts) {
  const { client, close } = openClient(kind, connect);
  const limiter = createLimiter({
    store: redisStore({ client }),
    deadline,
    rules: rules(0),
    onEvent: ({ type }) => counts.event(type),
  });
  await limiter.ready();

  const leaving = new AbortController().signal;
  // More than ten wait for it at once, of which Node would warn.
  setMaxListeners(0, leaving);
  const callers = makeCallers({ perSecond });
  const remains = makeRemains();
  const reloading = reloads({ limiter, counts, remains });
  const visitors = makeVisitors({ client, kind, connect, deadline, callers, counts, remains });
  const act = verbs({ inForce: reloading.inForce, callers, counts, leaving });
  const waiting = new Set();
  const pacing = pace({
    perSecond,
    rampMs,
    ask() {
      const done = act().finally(() => waiting.delete(done));
      waiting.add(done);
    },
    onStall: counts.stalled,
  });

  const cpu = cpuUse();
  let used = 0;

  return {
    go() {
      cpu.start();
      for (const each of [pacing, reloading, visitors]) each.start();
    },

    /** The load goes on, without visitors: what the last of them held is gone. */
    async calm() {
      await visitors.stop();
      await sleep(farewellMs);
    },

    /** Ends all that is under way, so that what is measured is what stays. */
    async rest() {
      used = cpu.use();
      pacing.stop();
      reloading.stop();
      const answered = new AbortController();
      const tooLate = sleep(tooLongMs, undefined, { signal: answered.signal }).catch(() => undefined);
      await Promise.race([Promise.all(waiting), tooLate]);
      answered.abort();
      for (let i = 0; i < waiting.size; i += 1) counts.failed('a call', 'was never answered');
      waiting.clear();
      await sleep(settleMs);
    },

    figures: ({ withCensus }) => ({
      cpu: used,
      ...figures({ client, leaving, limiter, remains }),
      ...(withCensus && { census: census() }),
    }),

    async close() {
      await limiter.close().catch((error) => counts.failed('close', String(error)));
      close();
    },
  };
}
