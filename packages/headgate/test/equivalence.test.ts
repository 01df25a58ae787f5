import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { memoryStore } from '../src/stores/memory.js';
import { receiptOf } from '../src/stores/outcome.js';
import { createRedisStore } from '../src/stores/redis/redis-store.js';
import type { Check, Group, Receipt, Store } from '../src/stores/store.js';
import { fakeClock } from '../src/testing/index.js';
import { startRedis, type RedisServer } from '../../../test/support/redis.js';
import { modelStore } from './support/model-store.js';
import { limitOf, sequences, type AskedCheck, type Op } from './support/sequences.js';
import { withTestClock } from './support/stores.js';

/** What an operation answered, for comparison: three implementations must say the same. */
type Answer = unknown;
type Model = ReturnType<typeof modelStore>;

const sequencesPerRun = 10_000;

let holders = 0;
function toCheck(asked: AskedCheck): Check {
  const limit = limitOf(asked.rule, asked.version);
  const bucket = limit.kind === 'tokenBucket';
  const concurrent = limit.kind === 'concurrency';
  const countsRefused = asked.countRefused && !concurrent && limit.kind !== 'consecutiveFailures';
  const least = asked.least === 'force' ? 0 : asked.least === 'some' ? 1 : undefined;
  holders += 1;
  return {
    rule: `rule${asked.rule}`,
    key: `key${asked.key}`,
    limit,
    cost: asked.cost,
    ...(least !== undefined && !concurrent ? { least } : undefined),
    ...(bucket && asked.ahead > 0 && asked.least === 'cost' ? { aheadUs: asked.ahead } : undefined),
    ...(countsRefused ? { countRefused: true } : undefined),
    ...(asked.shadow ? { shadow: true } : undefined),
    ...(concurrent ? { holder: `h${holders}` } : undefined),
  };
}

/** `versions` remembers how far each rule has been changed: all keys of a rule, and all its checks in a group, share one limit. */
function toGroup(op: Extract<Op, { do: 'decide' }>, versions: Map<number, number>): Group {
  for (const { rule, version } of op.checks) versions.set(rule, Math.max(version, versions.get(rule) ?? 0));
  const checks = op.checks.map((asked) => {
    const id = `${asked.rule} ${asked.key}`;
    const version = versions.get(asked.rule) ?? 0;
    // Nor do several checks of one budget take part of their cost, or take ahead.
    const twice = op.checks.filter((other) => `${other.rule} ${other.key}` === id).length > 1;
    return toCheck({ ...asked, version, ...(twice ? { least: 'cost', ahead: 0, countRefused: false, shadow: false } : undefined) });
  });
  return op.dry ? { checks, dry: true } : { checks };
}

function receiptsOf(group: Group, decided: Awaited<ReturnType<Store['decide']>>): Receipt[] {
  return group.checks.flatMap((check, index) => {
    const outcome = decided.outcomes[index];
    const receipt = outcome && receiptOf(check, outcome, decided);
    return receipt ? [receipt] : [];
  });
}

interface Subject {
  run(op: Exclude<Op, { do: 'advance' | 'decide' }>, receipts: readonly Receipt[]): Promise<Answer> | Answer;
}

function verbsOf(store: Store | Model): Subject {
  return {
    run(op, receipts) {
      switch (op.do) {
        case 'giveBack': {
          const receipt = receipts[op.nth % Math.max(1, receipts.length)];
          return receipt && store.giveBack({ receipt, units: Math.min(op.units, receipt.taken) });
        }
        case 'succeed': {
          const attempts = receipts.filter(({ limit }) => limit.kind === 'consecutiveFailures');
          const receipt = attempts[op.nth % Math.max(1, attempts.length)];
          return receipt && store.giveBack({ receipt, units: receipt.taken, forget: true });
        }
        case 'extend': {
          const receipt = receipts.filter(({ limit }) => limit.kind === 'concurrency').at(op.nth % Math.max(1, receipts.length));
          return receipt && store.extend(receipt);
        }
        case 'reset':
          return store.reset({ rule: `rule${op.rule}`, key: `key${op.key}`, kinds: [limitOf(op.rule, 0).kind] });
        case 'unban':
        case 'ban': {
          const target = { rule: `rule${op.rule}`, key: `key${op.key}`, kinds: [limitOf(op.rule, 0).kind] };
          const us = op.do === 'ban' ? op.us : 0;
          if (us > 0 || !('unban' in store)) return store.ban(target, us);
          return store.unban(target);
        }
      }
    },
  };
}

describe('the pure algorithms, the memory store and the Redis store', () => {
  let server: RedisServer;
  let client: Redis;
  let redis: Store;
  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.port, server.host);
    redis = createRedisStore({ client }, { editScript: withTestClock });
    await redis.ping();
  });
  afterAll(async () => {
    await redis.close();
    client.disconnect();
    await server.stop();
  });

  async function play(ops: readonly Op[]): Promise<void> {
    const clock = fakeClock();
    const model = modelStore(clock);
    const memory = memoryStore({ clock });
    void client.flushdb();
    await client.set('test:clock', clock.nowUs());
    const receipts: Receipt[] = [];
    const versions = new Map<number, number>();
    for (const [step, op] of ops.entries()) {
      if (op.do === 'advance') {
        clock.advance(op.us);
        await client.set('test:clock', clock.nowUs());
        continue;
      }
      if (op.do === 'decide') {
        const group = toGroup(op, versions);
        const expected = model.decide(group);
        assert.deepEqual(await memory.decide(group), expected, `memory, step ${step}`);
        assert.deepEqual(await redis.decide(group), expected, `Redis, step ${step}`);
        receipts.push(...receiptsOf(group, expected));
        continue;
      }
      // What a state is worth once its limit has changed depends on whether its TTL has dropped it.
      const valid = receipts.filter(
        ({ rule, limit }) => limit === limitOf(Number(rule.slice(4)), versions.get(Number(rule.slice(4))) ?? 0),
      );
      const expected = await verbsOf(model).run(op, valid);
      assert.deepEqual(await verbsOf(memory).run(op, valid), expected, `memory, step ${step}`);
      assert.deepEqual(await verbsOf(redis).run(op, valid), expected, `Redis, step ${step}`);
    }
  }

  it(`agree on ${sequencesPerRun} random sequences of checks, groups, give-backs, changed limits, bans and time`, async () => {
    await fc.assert(fc.asyncProperty(sequences, play), { numRuns: sequencesPerRun, endOnFailure: false });
  }, 600_000);
});
