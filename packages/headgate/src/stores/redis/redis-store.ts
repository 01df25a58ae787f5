import { millionth } from '../../limit.js';
import { StoreError } from '../../errors.js';
import { systemClock } from '../../clock.js';
import { askByPromise } from '../attempt.js';
import { Batch, type Verdict } from '../batch.js';
import { shardedStore } from '../sharded.js';
import { returnableUntil } from '../outcome.js';
import { decideSplit, meetSplit } from '../split.js';
import type { Asking, Check, GiveBack, Group, GroupOutcome, Meeting, Receipt, Store, Target, Ticket } from '../store.js';
import { resolveAdapter } from './adapters/resolve.js';
import { wasNotSent, type RedisAdapter } from './adapters/adapter.js';
import { decodeBucket, decodeBuckets, encodeBuckets, type BucketsReply } from './buckets.js';
import { decodeGroups, encodeGroups } from './groups.js';
import { keyFormat } from './keys.js';
import { readOptions } from './options.js';
import { defineScripts } from './scripts.js';
import { slotOf } from './slot.js';
import { timed, type RedisCall } from './timed.js';
import { decode, encode, kindNumber } from './wire.js';

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /**
   * The user's own client: ioredis 5 or 6 (`Redis`, `Cluster`), node-redis 5 or 6 (client, pool, cluster, sentinel) or
   * valkey-glide 2. Headgate works on a duplicate with safe options and closes only that; a glide client is used as given.
   */
  readonly client?: unknown;
  /**
   * Instead of `client`: several independent servers that share the keys, by name. A key always lives on the same one, by its name
   * (not its address) and weighted rendezvous hashing: a ninth server takes a ninth of the keys, and no others move. Every process
   * must give the same names and weights.
   */
  readonly clients?: Readonly<Record<string, unknown>>;
  /** How large a part of the keys each of `clients` has, 0 to 1000, 1 by default. 0 takes it out: its keys begin anew on the others. */
  readonly weights?: Readonly<Record<string, number>>;
  /** Begins every key, `'hg'` by default: 1 to 64 characters. Servers that share limits share it. */
  readonly prefix?: string;
  /** Replaces keys by a short HMAC under this secret (at least 16 characters), so that addresses cannot be read out of Redis. */
  readonly keySecret?: string;
  /** Told of each script call that decides, which may carry many checks: for metrics. A call that never comes back is not told of. */
  readonly onCall?: (call: RedisCall) => void;
}

/** What only tests set: the scripts' text, to replace the line that reads the clock. */
export interface RedisStoreInternals {
  readonly editScript?: (source: string) => string;
}

/** `redisStore` without its layers, and with what only tests set. */
export function createRedisStore(options: RedisStoreOptions, internals: RedisStoreInternals = {}): Store {
  const { prefix, encode, servers } = readOptions(options);
  const { onCall } = options;
  const [only] = servers;
  if (options.clients === undefined && only !== undefined)
    return oneRedis({ name: 'store', adapter: resolveAdapter(only.client), prefix, encode, onCall }, internals);
  const shards: { name: string; weight: number; adapter: RedisAdapter }[] = [];
  try {
    for (const { name, client, weight, where } of servers) shards.push({ name, weight, adapter: resolveAdapter(client, where) });
  } catch (error) {
    // Their connections are open already, and nobody else could close them.
    for (const { adapter } of shards) void adapter.close();
    throw error;
  }
  return shardedStore(
    shards.map(({ name, weight, adapter }) => ({ name, weight, store: oneRedis({ name, adapter, prefix, encode, onCall }, internals) })),
  );
}

const isHeavy = ({ checks }: Group): boolean =>
  checks.length === 1 ? checks[0]?.limit.kind === 'slidingLog' : checks.some(({ limit }) => limit.kind === 'slidingLog');

/**
 * Whether Redis itself answered with an error (READONLY, LOADING, OOM, ...): then nothing was written, as the first write is what it
 * refuses. A client's own errors, of lost connections, begin with no such word.
 */
const wasNotDone = (error: unknown): boolean => wasNotSent(error) || (error instanceof Error && /^[A-Z]{2,} /.test(error.message));

/** One server, or one cluster. */
interface OneRedis {
  /** As it is called where calls are told of. */
  readonly name: string;
  readonly adapter: RedisAdapter;
  readonly prefix: string;
  readonly encode: (key: string) => string;
  readonly onCall: RedisStoreOptions['onCall'];
}

function oneRedis({ name, adapter, prefix, encode: encodeTag, onCall }: OneRedis, { editScript }: RedisStoreInternals): Store {
  const scripts = defineScripts(editScript);
  const format = keyFormat(prefix, encodeTag);
  const clock = systemClock();
  const clustered = adapter.topology === 'cluster';
  /** The store's clock less ours, by the last reply: a hint for calendars; the script has the last word. */
  let aheadUs = 0;
  let closed = false;

  const keyOf = ({ rule, key, limit }: Check): string => format.state(rule, key, limit.kind);
  const slot = ({ key }: Pick<Check, 'key'>): string => String(slotOf(encodeTag(key)));

  async function runDecide(groups: readonly Group[]): Promise<Verdict[]> {
    const call = encode(groups, { keyOf, now: clock.nowUs() + aheadUs });
    const { now, verdicts } = decode(await scripts.decide.run(adapter, call.keys, call.args), groups);
    aheadUs = now - clock.nowUs();
    return verdicts;
  }

  /** What the hot paths found odd (a clock that went back, no TTL) the decide script decides. */
  async function decideOdd(groups: readonly Group[], verdicts: BucketsReply['verdicts']): Promise<readonly Verdict[]> {
    const odd = groups.filter((_, index) => verdicts[index] === 'odd');
    const decided = await runDecide(odd).catch((cause: unknown) =>
      odd.map((): Verdict => new StoreError('Redis answered with an error', { cause })),
    );
    return verdicts.map((verdict) =>
      verdict === 'odd' ? (decided.shift() ?? new StoreError('Redis answered for fewer checks than were asked')) : verdict,
    );
  }

  /** Sends a batch by the hot path that takes it; undefined if none does. */
  function runHot(groups: readonly Group[]): Promise<BucketsReply> | undefined {
    const buckets = encodeBuckets(groups, keyOf);
    if (buckets !== undefined) {
      const { keys, args } = buckets;
      if (groups.length === 1) return scripts.takeBucket.run(adapter, keys, args).then((reply) => decodeBucket(reply, groups));
      return scripts.takeBuckets.run(adapter, keys, args).then((reply) => decodeBuckets(reply, groups));
    }
    const several = encodeGroups(groups, keyOf);
    return several && scripts.takeGroups.run(adapter, several.keys, several.args).then((reply) => decodeGroups(reply, groups));
  }

  function run(groups: readonly Group[]): Promise<readonly Verdict[]> {
    const hot = runHot(groups);
    if (hot === undefined) return runDecide(groups);
    return hot.then(({ now, verdicts, odd }) => {
      if (now !== undefined) aheadUs = now - clock.nowUs();
      return odd ? decideOdd(groups, verdicts) : (verdicts as readonly GroupOutcome[]);
    });
  }

  const laneOf = (group: Group): string => (group.checks[0] ? slot(group.checks[0]) : '');
  const batch = new Batch({
    name: 'Redis',
    connection: adapter,
    run: timed(run, name, onCall),
    isHeavy,
    wasNotDone,
    ...(clustered && { laneOf }),
  });

  /** Runs what is not a decision: the user's error is a StoreError, whatever the client throws. */
  async function ask<T>(what: string, call: () => Promise<T>): Promise<T> {
    if (closed) throw new StoreError('the Redis store is closed', { code: 'HEADGATE_CLOSED' });
    try {
      return await call();
    } catch (cause) {
      const foreign = cause instanceof Error && /FOREIGN|WRONGTYPE/.test(cause.message);
      throw new StoreError(`${what}: ${foreign ? 'the key holds a value that Headgate did not write' : 'Redis did not carry it out'}`, {
        cause,
        ...(foreign ? { code: 'HEADGATE_FOREIGN_VALUE' } : undefined),
      });
    }
  }

  function decide(group: Group, ticket?: Ticket): Promise<GroupOutcome> {
    if (closed) return Promise.reject(new StoreError('the Redis store is closed', { code: 'HEADGATE_CLOSED' }));
    if (!clustered || group.checks.length === 1) return batch.decide(group, ticket);
    return decideSplit(group, { placeOf: slot, decide: (part) => batch.decide(part, ticket), giveBack });
  }

  function askFor(group: Group, call: Asking): void {
    if (!closed && (!clustered || group.checks.length === 1)) batch.ask(group, call);
    else askByPromise(decide, group, call);
  }

  function giveBack({ receipt, units, onceId, forget, downTo = 0 }: GiveBack): Promise<number> {
    const { rule, key, limit, takenAt, windowEnd = 0, holder = '' } = receipt;
    const keys = [format.state(rule, key, limit.kind)];
    if (onceId !== undefined) keys.push(format.marker(key, onceId));
    const kind = limit.kind === 'quota' ? kindNumber.fixedWindow : kindNumber[limit.kind];
    const bucket = limit.kind === 'tokenBucket';
    const mark = limit.kind === 'slidingLog' ? limit.windowUs : limit.kind === 'consecutiveFailures' ? limit.forgetUs : windowEnd;
    const turn = bucket ? [limit.capacity * millionth, receipt.fill ?? 0] : [0, 0];
    const refill = bucket ? [limit.creditUnits, limit.creditUs] : [kind === kindNumber.fixedWindow ? downTo : 0, 0];
    const args = [kind, forget === true ? 0 : units, takenAt, mark, ...refill, holder, returnableUntil(receipt), ...turn].map(String);
    return ask('give back', async () => (await scripts.giveBack.run(adapter, keys, args)) / (bucket ? millionth : 1));
  }

  const statesOf = ({ rule, key, kinds }: Target): string[] => kinds.map((kind) => format.state(rule, key, kind));

  return {
    ...(clustered && { placeOf: (key: string) => slot({ key }) }),
    decide,
    ask: askFor,
    giveBack,
    claim: (receipt, onceId) =>
      ask('claim', async () => {
        const ms = Math.ceil((returnableUntil(receipt) - clock.nowUs() - aheadUs) / 1000) + 1;
        if (ms <= 1) return false;
        const key = format.marker(receipt.key, onceId);
        return (await adapter.send('SET', [key, '1', 'PX', String(ms), 'NX'], key)) !== null;
      }),
    extend: (receipt: Receipt) =>
      ask('extend', () => {
        const us = receipt.limit.kind === 'concurrency' ? receipt.limit.expiresUs : 0;
        const key = format.state(receipt.rule, receipt.key, receipt.limit.kind);
        return scripts.extend.run(adapter, [key], [receipt.holder ?? '', String(us)]);
      }),
    async reset(target) {
      await ask('reset', () => scripts.reset.run(adapter, statesOf(target), []));
    },
    async ban(target, us) {
      await ask('ban', () => scripts.ban.run(adapter, statesOf(target), [String(us)]));
    },
    async unban(target) {
      await ask('unban', () => scripts.ban.run(adapter, statesOf(target), ['0']));
    },
    async beat({ member, layout, forUs }) {
      await settled(adapter);
      const [members = 0, alike = 0] = await ask('beat', () => scripts.beat.run(adapter, format.fleet(layout), [member, String(forUs)]));
      return { members, strangers: members - alike };
    },
    async meet(meeting) {
      await settled(adapter);
      const meet = ({ keys, member, forUs }: Meeting): Promise<readonly number[]> => {
        const names = keys.map(({ rule, key }) => format.meeting(rule, key));
        return ask('meet', () => scripts.meet.run(adapter, names, [member, String(forUs)]));
      };
      return meetSplit(meeting, { placeOf: clustered ? (key) => slot({ key }) : () => '', meet });
    },
    ping: () =>
      ask('ping', async () => {
        await settled(adapter);
        await adapter.send('EXISTS', [format.marker('ping', '0')], format.marker('ping', '0'));
      }),
    async close() {
      if (closed) return;
      closed = true;
      await adapter.close();
    },
  };
}

function settled(adapter: RedisAdapter): Promise<void> {
  return new Promise((resolve) => {
    if (adapter.state() !== 'connecting') resolve();
    else adapter.onceSettled(() => resolve());
  });
}
