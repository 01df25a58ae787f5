import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from '../support/redis.js';
import { nextMessage } from '../support/worker-message.js';

/** The process that `npm run bench:local` drives too. */
const worker = join(import.meta.dirname, '../../bench/local/worker.mjs');
const processes = 8;
const [capacity, refill] = [1000, 1000];
const systems = { lease: { store: 'redis', limit: ['tokenBucket', { capacity, refill: `${refill}/s` }], mode: 'lease' } };
/** Calls a second of one process, and what comes on top at the edges of the measurement. */
const [mostCalls, edge] = [20, 3];

/** How one process did; moments in milliseconds of a clock that all processes share. */
interface Said {
  readonly asked: number;
  readonly answered: number;
  readonly admitted: number;
  readonly degraded: number;
  readonly errors: readonly string[];
  readonly firstAskedAt: number;
  readonly lastAnsweredAt: number;
  /** What it sent to Redis, heartbeats apart. */
  readonly calls: number;
}

const sharedNow = (): number => Number(process.hrtime.bigint()) / 1e6;
const sum = (said: readonly Said[], of: (one: Said) => number): number => said.reduce((total, one) => total + of(one), 0);

/** How many units may have been taken, and how much of what could pass did. */
function judge(said: readonly Said[]) {
  const from = Math.min(...said.map(({ firstAskedAt }) => firstAskedAt));
  const seconds = (Math.max(...said.map(({ lastAnsweredAt }) => lastAnsweredAt)) - from) / 1000;
  // From a full bucket, after the first question and before the last answer: no clock but this one is trusted.
  const most = capacity + refill * seconds;
  const admitted = sum(said, (one) => one.admitted);
  const asked = sum(said, (one) => one.asked);
  return { seconds, most, admitted, asked, part: admitted / Math.min(most, asked), mostCalls: Math.max(...said.map(({ calls }) => calls)) };
}

describe(`one leased key of ${refill} a second, spent by ${processes} processes`, () => {
  let redis: RedisServer;
  let children: ChildProcess[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    children = Array.from({ length: processes }, () => fork(worker, { serialization: 'advanced', execArgv: [] }));
    const { host, port } = redis;
    await tell(() => ({ host, port, deadline: '2s', fleetSize: processes, systems }));
  });
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await redis.kill();
  });

  function tell(what: (number: number) => object): Promise<unknown[]> {
    return Promise.all(
      children.map((child, number) => {
        const answer = nextMessage(child);
        child.send(what(number));
        return answer;
      }),
    );
  }

  /** All processes ask for one new key, at a pace each. */
  async function run(key: string, ms: number, perSecondOf: (number: number) => number): Promise<readonly Said[]> {
    const startAt = sharedNow() + 200;
    const answers = (await tell((number) => ({
      startAt,
      endAt: startAt + ms,
      series: [{ system: 'lease', key, perSecond: perSecondOf(number), phase: number / processes }],
    }))) as Said[][];
    const said = answers.flat();
    const { seconds, most, admitted, asked, mostCalls } = judge(said);
    console.log(
      `leases, ${key}: ${admitted} of ${asked} passed in ${seconds.toFixed(2)} s; the limit is ${most.toFixed(1)}; at most ` +
        `${(mostCalls / seconds).toFixed(1)} calls/s of a process, ${((sum(said, ({ calls }) => calls) / asked) * 100).toFixed(2)} % calls per check`,
    );
    expect(said.flatMap(({ errors }) => errors)).toEqual([]);
    expect(sum(said, (one) => one.asked - one.answered)).toBe(0);
    expect(sum(said, ({ degraded }) => degraded)).toBe(0);
    return said;
  }

  it('passes what the limit says and nothing beyond it, asked for 8 times as much', async () => {
    const { admitted, most, part, ...rest } = judge(await run('8 times, even', 6000, () => refill));
    expect(admitted).toBeLessThanOrEqual(most);
    expect(part).toBeGreaterThan(0.9);
    expect(rest.mostCalls).toBeLessThanOrEqual(mostCalls * rest.seconds + edge);
  });

  it('the same where one process asks for nine tenths, as idle units go where they are needed', async () => {
    const offered = 2 * refill;
    const said = await run('2 times, 90/10', 6000, (number) => (number === 0 ? offered * 0.9 : (offered * 0.1) / (processes - 1)));
    const { admitted, most, part, ...rest } = judge(said);
    expect(admitted).toBeLessThanOrEqual(most);
    expect(part).toBeGreaterThan(0.9);
    expect(rest.mostCalls).toBeLessThanOrEqual(mostCalls * rest.seconds + edge);
  });

  it('costs under one call in a hundred checks where each process is asked 2,000 times a second', async () => {
    const said = await run('16 times, even', 4000, () => 2000);
    for (const { calls, asked } of said) expect(calls / asked).toBeLessThan(0.01);
  });

  it('and gives back what it has in hand when its process ends', async () => {
    const ends = children.map((child) => once(child, 'exit'));
    for (const child of children) child.send({ end: true });
    const codes = (await Promise.all(ends)).map(([code]) => code as unknown);
    expect(codes).toEqual(children.map(() => 0));
  });
});
