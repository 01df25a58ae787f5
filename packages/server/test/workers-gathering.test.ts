import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { MetricsJson } from '../src/observe/metrics.js';
import { rulesMetrics } from '../src/observe/rules-metrics.js';
import { gathering } from '../src/workers/gathering.js';

async function counted(checks: number): Promise<MetricsJson> {
  const registers = [new Registry()];
  new Counter({ name: 'checks_total', help: 'h', registers }).inc(checks);
  new Gauge({ name: 'keys', help: 'h', registers }).set(checks);
  return registers[0]?.getMetricsAsJSON() ?? [];
}

async function total(parts: readonly MetricsJson[]): Promise<Record<string, number>> {
  const text = await AggregatorRegistry.aggregate([...parts]).metrics();
  return Object.fromEntries([...text.matchAll(/^(\w+) (\d+)$/gm)].map(([, name, value]) => [name, Number(value)]));
}

describe('metrics of all workers', () => {
  it('are added up; of one that does not answer in time its last answer counts, of one that has ended its counters', async () => {
    let workers = [1, 2];
    const silent = new Set<number>();
    const answers = new Map([
      [1, 10],
      [2, 5],
    ]);
    const all = gathering({
      workers: () => workers,
      ask: (worker, id) => {
        if (!silent.has(worker)) void counted(answers.get(worker) ?? 0).then((metrics) => all.counted(worker, id, metrics));
      },
    });
    expect(await total(await all.gather())).toEqual({ checks_total: 15, keys: 15 });
    silent.add(2);
    answers.set(1, 11);
    expect(await total(await all.gather())).toEqual({ checks_total: 16, keys: 16 });
    workers = [1];
    await all.ended(2);
    expect(await total(await all.gather())).toEqual({ checks_total: 16, keys: 11 });
    workers = [1, 3];
    answers.set(3, 1);
    expect(await total(await all.gather())).toEqual({ checks_total: 17, keys: 12 });
    workers = [3];
    await all.ended(1);
    expect(await total(await all.gather())).toEqual({ checks_total: 17, keys: 1 });
  });

  it('tell of the rules what the one that is behind says, not a sum', async () => {
    const told = (version: number, ageMs: number, reachable: boolean): Promise<MetricsJson> => {
      const registry = new Registry();
      rulesMetrics(registry, () => ({ version, from: 'database', ageMs, reachable }));
      return registry.getMetricsAsJSON();
    };
    expect(await total([await told(8, 1000, true), await told(7, 61_000, false)])).toEqual({
      headgate_rules_version: 7,
      headgate_rules_age_seconds: 61,
      headgate_rules_source_reachable: 0,
    });
  });

  it('lose nothing of many that end at the same time', async () => {
    let workers = Array.from({ length: 30 }, (_, index) => index);
    const all = gathering({
      workers: () => workers,
      ask: (worker, id) => void counted(1).then((metrics) => all.counted(worker, id, metrics)),
    });
    expect((await total(await all.gather()))['checks_total']).toBe(30);
    const ended = workers.map((worker) => all.ended(worker));
    workers = [];
    expect((await total(await all.gather()))['checks_total']).toBe(30);
    await Promise.all(ended);
    const parts = await all.gather();
    expect(parts.length).toBeLessThan(30);
    expect((await total(parts))['checks_total']).toBe(30);
  });
});
