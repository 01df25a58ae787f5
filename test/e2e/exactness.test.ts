import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from '../support/redis.js';
import { check, type Report } from './exactness/checker.js';
import { record, type RunOptions } from './exactness/run.js';

/** To run a seed again: `HEADGATE_SEED=n npx vitest run test/e2e`. It fixes what is asked, not how the processes interleave. */
const seed = Number(process.env['HEADGATE_SEED'] ?? Math.floor(Math.random() * 1e6));

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.kill());

const common = { seed, processes: 8, loops: 6, most: 12_000, pauseMs: 4 } as const;
const run = (options: Pick<RunOptions, 'store' | 'ms'> & Partial<RunOptions>) => record({ ...common, url: redis.url, ...options });

const line = (what: string, r: Report): string =>
  `${what}: ${r.decisions} decisions (${r.checks} checks of ${r.budgets} budgets), ${r.allowed} allowed, ${r.refused} refused, ` +
  `${r.corrections} corrections, ${r.degraded} degraded, ${r.violations.length} violations, seed ${seed}`;

const faults = (r: Report): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { fault } of r.violations) counts[fault] = (counts[fault] ?? 0) + 1;
  return counts;
};

describe('exactness over processes', () => {
  it('8 processes over one Redis never pass a limit, and refuse nothing that fits', async () => {
    const history = await run({ store: 'redis', ms: 5000 });
    const report = check(history);
    console.log(line('exactness', report));
    expect(report.violations.slice(0, 10)).toEqual([]);
    expect(report.degraded).toBe(0);
    expect(history.degraded).toBe(0);
    expect(history.unreturned).toBe(0);
    // Fewer would prove little: on two cores it is about ten times as many.
    expect(Math.min(report.allowed, report.refused)).toBeGreaterThan(2000);
    expect(history.corrections.filter(({ done }) => done > 0).length).toBeGreaterThan(200);
  });

  it('the same checker finds out a store that reads and writes in two steps', async () => {
    const report = check(await run({ store: 'racy', ms: 2000 }));
    console.log(line('racy store', report));
    expect(report.degraded).toBe(0);
    expect(faults(report)['over-admitted']).toBeGreaterThan(0);
  });

  it('and has nothing against that store where nobody races: one process, one question at a time', async () => {
    await redis.command('FLUSHALL');
    const report = check(await run({ store: 'racy', ms: 1000, processes: 1, loops: 1, pauseMs: 0, bursts: false }));
    console.log(line('racy store alone', report));
    expect(report.violations.slice(0, 10)).toEqual([]);
    expect(report.refused).toBeGreaterThan(0);
  });
});
