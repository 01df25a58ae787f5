import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { monitor, type Monitor } from '../support/monitor.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { pause } from '../chaos/faults/fault.js';
import { startLoad, type Load, type Look } from './attack-load.js';

const processes = 15;
const perSecond = 50_000;
const [capacity, refill] = [20, 2];
/** Calls per process and second: one, and at the edges of the measurement one more. */
const mostCalls = 1;
const edge = 0.2;
/** Who is let through no longer waits as long as before: where all ask at one moment, several units have come back, and one asks for each. */
const callsPerPass = 3;

const sum = (looks: readonly Look[], of: (look: Look) => number): number => looks.reduce((total, look) => total + of(look), 0);

describe(`${perSecond.toLocaleString('en')} requests a second for one refused key, by ${processes} processes`, () => {
  let redis: RedisServer;
  let watch: Monitor;
  let load: Load;
  let looks: readonly Look[] = [];
  let calls = 0;
  let asked = 0;
  let seconds = 0;

  beforeAll(async () => {
    redis = await startRedis();
    watch = await monitor(redis.port);
    const rules = { api: { kind: 'tokenBucket', size: capacity, units: refill, perUs: 1_000_000 } } as const;
    load = await startLoad({ port: redis.port, processes, rules, keyed: 'one', deadline: 1000 });
    // The bucket is emptied at leisure: two cores are too few for 15 processes that all ask Redis.
    await load.go(perSecond / 50);
    await pause(1500);
    await load.go(perSecond);
    await pause(1500);
    const before = await load.look();
    await watch.clear();
    const began = performance.now();
    await pause(6000);
    calls = await watch.count('EVALSHA');
    seconds = (performance.now() - began) / 1000;
    const after = await load.look();
    asked = sum(after, (look) => look.asked) - sum(before, (look) => look.asked);
    looks = await load.halt();
    const perProcess = calls / seconds / processes;
    console.log(
      `attack: ${Math.round(asked / seconds)} requests/s, ${(calls / seconds).toFixed(1)} calls/s to Redis (1 for ${Math.round(asked / calls)} requests), ` +
        `${perProcess.toFixed(2)} per process and second`,
    );
  });
  afterAll(async () => {
    load.kill();
    watch.stop();
    await redis.kill();
  });

  it(`reach Redis as ${mostCalls} call per process and second at most beside those that pass, one in thousands of requests`, () => {
    expect(calls / seconds).toBeLessThanOrEqual(processes * (mostCalls + edge) + callsPerPass * refill);
    expect(asked / calls).toBeGreaterThan(1000);
  });

  it('are all answered, by the store or a note, without an error', () => {
    expect(looks.flatMap(({ errors }) => errors)).toEqual([]);
    expect(looks.map((look) => look.asked - look.answered)).toEqual(looks.map(() => 0));
    expect(sum(looks, ({ stats }) => stats.degraded)).toBe(0);
  });

  it('pass in no stretch of time more often than the limit says, and the owner of the key is served', () => {
    const passed = looks.flatMap(({ passedAt }) => passedAt).sort((a, b) => a - b);
    const secondsTo = (from: number, to: number): number => ((passed[to] ?? 0) - (passed[from] ?? 0)) / 1e6;
    const most = passed.map((_, from) =>
      Math.max(...passed.slice(from).map((_, more) => more + 1 - capacity - refill * secondsTo(from, from + more))),
    );
    // A bucket may gain nothing, and lose a millionth of a unit with each take.
    expect(Math.max(...most)).toBeLessThanOrEqual(1e-6);
    const inAll = secondsTo(0, passed.length - 1);
    console.log(`attack: ${passed.length} passed in ${inAll.toFixed(1)} s; the limit is ${(capacity + refill * inAll).toFixed(1)}`);
    expect(inAll).toBeGreaterThan(seconds);
    expect(passed.length).toBeGreaterThan(capacity + 0.8 * refill * inAll);
  });
});
