import pg from 'pg';
import { backoff, type Timing } from '../rules/timing.js';
import { limited } from './postgres-pool.js';
import { watchers, type Watchers } from './watchers.js';

/** Between attempts to connect, in milliseconds: from the first to the longest. */
const pausesMs = [250, 30_000] as const;

/** A connection that is cut in silence is found out by a question so often, in milliseconds, and by so long without an answer. */
const askEveryMs = 20_000;
const answerMs = 3_000;

export interface PostgresChanges {
  readonly options: pg.ClientConfig;
  /** Only notices of tables in it count. */
  readonly schema: string;
  readonly timing: Timing;
}

interface Told {
  /** It listens from now on. */
  readonly ready: () => void;
  readonly notice: () => void;
  /** Once, however it ended. */
  readonly ended: () => void;
}

/** Listens on one connection until it ends; the function returned ends it. */
function listen({ options, schema, timing }: PostgresChanges, told: Told): () => void {
  const client = new pg.Client(limited(options, answerMs));
  let over = false;
  let cancel: () => void = () => undefined;

  function end(): void {
    if (over) return;
    over = true;
    cancel();
    // Not waited for: what is cut in silence does not answer a goodbye either.
    client.end().catch(() => undefined);
    told.ended();
  }
  function askLater(): void {
    if (!over) cancel = timing.after(askEveryMs, () => void client.query('select 1').then(askLater, end));
  }

  client.on('error', end);
  client.on('end', end);
  client.on('notification', ({ payload }) => {
    if (!over && payload?.startsWith(`${schema}.`) === true) told.notice();
  });
  client
    .connect()
    .then(() => client.query('listen headgate'))
    .then(() => {
      if (over) return;
      askLater();
      told.ready();
    })
    .catch(end);
  return end;
}

/** Listens on a connection of its own, which is opened again whenever it ends; from then on something may be missed. */
export function postgresChanges(changes: PostgresChanges): Watchers {
  const { timing } = changes;
  return watchers((wake) => {
    const pauses = backoff(timing, pausesMs);
    let stopped = false;
    let hasListened = false;
    let close: () => void = () => undefined;
    let cancel: () => void = () => undefined;

    function open(): void {
      close = listen(changes, {
        ready() {
          pauses.reset();
          hasListened = true;
          wake(true);
        },
        notice: () => wake(false),
        ended() {
          if (stopped) return;
          cancel = timing.after(pauses.next(), open);
          if (hasListened) wake(true);
          hasListened = false;
        },
      });
    }

    open();
    return () => {
      stopped = true;
      cancel();
      close();
    };
  });
}
