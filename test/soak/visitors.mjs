import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter } from 'headgate';
import { redisStore } from 'headgate/redis';
import { openClient } from '../chaos/clients.mjs';
import { pick } from './chance.mjs';
import { checkable, rules } from './rules.mjs';

/** Between two of them. */
const pauseMs = 1500;
/** What each of them asks. */
const checks = 60;

const nothing = () => undefined;

/**
 * Limiters that are made and closed while the load goes on, as tests, workers and tenants make them: over the app's own client, over a client
 * of their own, over shards, and closed before they are connected. What each leaves behind would add up.
 */
export function visitors({ client, kind, connect, deadline, callers, counts, remains }) {
  const overTheApps = () => ({ store: redisStore({ client }), close: nothing });
  const ways = [
    { asks: true, open: overTheApps },
    {
      asks: true,
      open() {
        const { client: own, close } = openClient(kind, connect);
        return { store: redisStore({ client: own }), close };
      },
    },
    // Under a prefix of its own: it spreads keys in another way than the others, which would warn of it.
    { asks: true, open: () => ({ store: redisStore({ clients: { a: client, b: client }, prefix: 'shards' }), close: nothing }) },
    { asks: false, open: overTheApps },
  ];

  async function ask(limiter, names) {
    await limiter.ready().catch((error) => counts.failed('ready', error));
    for (let i = 0; i < checks; i += 1) {
      counts.decided(await limiter.check(pick(names), callers.steady()));
      if (i % 10 === 0) await sleep(10);
    }
  }

  let visits = 0;
  async function visit() {
    visits += 1;
    const { asks, open } = ways[visits % ways.length];
    const given = rules(visits);
    const { store, close } = open();
    const limiter = createLimiter({ store, deadline, rules: given, onEvent: ({ type }) => counts.event(type) });
    if (asks) await ask(limiter, checkable(given));
    await limiter.close();
    close();
    remains.letGo('limiters', limiter);
    remains.letGo('stores', store);
    counts.did('visit');
  }

  async function receive(signal) {
    while (!signal.aborted) {
      await visit().catch((error) => counts.failed('visit', error));
      await sleep(pauseMs, undefined, { signal }).catch(nothing);
    }
  }

  let stopping;
  let received;
  return {
    start() {
      stopping = new AbortController();
      received = receive(stopping.signal);
    },
    /** The one who is there leaves first. */
    async stop() {
      stopping.abort();
      await received;
    },
  };
}
