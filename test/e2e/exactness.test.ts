import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from '../support/redis.js';
import { check, type Report } from './exactness/checker.js';
import type { CheckRecord, DecisionRecord, History } from './exactness/history.js';
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

const budgetOf = ({ rule, key, limit }: CheckRecord): string => `${rule} ${key} ${limit.kind}`;

/**
 * The history of one budget with one answer of it turned round. Taken from rules whose answers are certain: no corrections, nothing else of
 * that budget in that microsecond, and no bucket (its documented millionth may now and then excuse the flip).
 */
function* flipped({ decisions }: History, every: number): Generator<{ flip: DecisionRecord; history: History }> {
  const certain = /^(epoch|first|sliding|log|hourly|slots|mixed)(\d+)?$/;
  const byBudget = new Map<string, DecisionRecord[]>();
  for (const decision of decisions) {
    for (const record of decision.checks) {
      if (!certain.test(record.rule)) continue;
      const list = byBudget.get(budgetOf(record)) ?? [];
      byBudget.set(budgetOf(record), list);
      // Seen from one budget, a group is its own check, taken or only looked at.
      const looked = decision.kind === 'peek' || (record.allowed && !decision.allowed);
      list.push({ ...decision, kind: looked ? 'peek' : 'check', allowed: record.allowed, checks: [record] });
    }
  }
  let count = 0;
  for (const list of byBudget.values()) {
    for (const decision of list) {
      const [record] = decision.checks;
      const alone = list.filter(({ decidedAt }) => decidedAt === decision.decidedAt).length === 1;
      if (!record || decision.kind === 'peek' || !alone || record.reason === 'cost-above-limit' || (count += 1) % every > 0) continue;
      const allowed = !decision.allowed;
      const turned = { ...record, allowed, reason: allowed ? 'ok' : 'limited', retryAfterMs: allowed ? 0 : 1 };
      const flip = { ...decision, allowed, checks: [turned] };
      yield { flip, history: { decisions: list.map((other) => (other === decision ? flip : other)), corrections: [] } };
    }
  }
}

describe('exactness over processes', { timeout: 60_000 }, () => {
  let recorded: History | undefined;

  it('8 processes over one Redis never pass a limit, and refuse nothing that fits', async () => {
    const history = await run({ store: 'redis', ms: 5000 });
    recorded = history;
    const report = check(history);
    console.log(line('exactness', report));
    expect(report.violations.slice(0, 10)).toEqual([]);
    expect(report.degraded).toBe(0);
    expect(history.degraded).toBe(0);
    expect(history.unreturned).toBe(0);
    // Fewer would prove little; two idle cores do about ten times as many.
    expect(Math.min(report.allowed, report.refused)).toBeGreaterThan(800);
    expect(history.corrections.filter(({ done }) => done > 0).length).toBeGreaterThan(100);
  });

  it('one wrong answer among them would have been found', () => {
    let flips = 0;
    for (const { flip, history } of flipped(recorded ?? { decisions: [], corrections: [] }, 40)) {
      flips += 1;
      const expected = flip.allowed ? 'over-admitted' : 'wrong-refusal';
      expect({ flip, faults: Object.keys(faults(check(history))) }).toEqual({
        flip,
        faults: expect.arrayContaining([expected]) as string[],
      });
    }
    expect(flips).toBeGreaterThan(20);
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
    // A store that only failed would have no violations either.
    expect(report.degraded).toBe(0);
    expect(Math.min(report.allowed, report.refused)).toBeGreaterThan(50);
  });
});
