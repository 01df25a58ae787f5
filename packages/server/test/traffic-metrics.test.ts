import { createLimiter } from 'headgate';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '../src/observe/metrics.js';
import { otherRules } from '../src/observe/rule-labels.js';
import { allowed, bytesInUse, refused, watched } from './support/traffic.js';

const idle = { stats: createLimiter({ rules: {} }).stats, shards: [], mostNotes: 0, version: '1.2.3' };

/** Lines of the metrics whose names begin so. */
async function lines({ text }: ReturnType<typeof createMetrics>, name: string): Promise<string[]> {
  return (await text()).text.split('\n').filter((line) => line.startsWith(`${name}{`));
}

describe('metrics of the traffic', () => {
  it('show the keys seen and refused in both windows, and the share of those refused most', async () => {
    const { traffic, pass } = watched();
    const metrics = createMetrics(idle, traffic);
    traffic.observe([allowed('api', 'a'), allowed('api', 'b'), refused('api', 'b')]);
    pass(120);
    traffic.observe([allowed('api', 'c'), refused('api', 'd')]);
    expect(await lines(metrics, 'headgate_keys_seen')).toEqual([
      'headgate_keys_seen{rule="api",window="1m"} 2',
      'headgate_keys_seen{rule="api",window="1h"} 4',
    ]);
    expect(await lines(metrics, 'headgate_keys_refused')).toEqual([
      'headgate_keys_refused{rule="api",window="1m"} 1',
      'headgate_keys_refused{rule="api",window="1h"} 2',
    ]);
    expect(await lines(metrics, 'headgate_refused_share_of_top')).toEqual(['headgate_refused_share_of_top{rule="api"} 1']);
  });

  it('have no series for a rule that was not checked for an hour', async () => {
    const { traffic, pass } = watched();
    const metrics = createMetrics(idle, traffic);
    traffic.observe([allowed('gone', 'key')]);
    expect(await lines(metrics, 'headgate_keys_seen')).toHaveLength(2);
    pass(3700);
    expect(await lines(metrics, 'headgate_keys_seen')).toEqual([]);
  });

  it('are whole for each of those who ask at the same time', async () => {
    const { traffic } = watched();
    const metrics = createMetrics(idle, traffic);
    for (let rule = 0; rule < 100; rule += 1) traffic.observe([allowed(`rule-${rule}`, 'key')]);
    const answers = await Promise.all([1, 2, 3].map(() => lines(metrics, 'headgate_keys_seen')));
    expect(answers.map(({ length }) => length)).toEqual([200, 200, 200]);
  });

  it('are absent where traffic is not watched', async () => {
    expect((await createMetrics(idle).text()).text).not.toContain('headgate_keys_seen');
  });

  it('stay bounded under 1,000,000 keys and 10,000 rules: the rules beyond a bound share one series', async () => {
    const { traffic } = watched();
    const metrics = createMetrics(idle, traffic);
    const before = bytesInUse();
    for (let i = 0; i < 1_000_000; i += 1) {
      const decisions = [(i % 3 === 0 ? refused : allowed)(`rule-${i % 10_000}`, `key-${i}`)];
      metrics.decided(decisions);
      traffic.observe(decisions);
    }
    expect(bytesInUse() - before).toBeLessThan(20e6);
    const decided = await lines(metrics, 'headgate_decisions_total');
    expect(decided).toHaveLength(2 * 1001);
    expect(decided).toContainEqual(expect.stringMatching(new RegExp(`rule="${otherRules}",outcome="allowed",source="store"} 6`)));
    for (const name of ['headgate_keys_seen', 'headgate_keys_refused']) {
      const series = await lines(metrics, name);
      expect(series).toHaveLength(2 * 1001);
      expect(series.filter((line) => line.includes(otherRules))).toHaveLength(2);
    }
    expect(await lines(metrics, 'headgate_refused_share_of_top')).toHaveLength(1001);
    const total = decided.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    expect(total).toBe(1_000_000);
  });
});
