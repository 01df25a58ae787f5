import { describe, expect, it } from 'vitest';
import { run, type RunResult } from './simulation/run.js';
import type { Sabotage } from './simulation/shard.js';

const given = process.env['SEED'];
const seeds = given === undefined ? Array.from({ length: 200 }, (_, i) => i + 1) : [Number(given)];

/** What went wrong and how to see it again; empty if nothing did. */
function reportOf({ seed, broken }: RunResult): string[] {
  if (broken.length === 0) return [];
  const lines = broken.map(({ key, promise, admitted, bound, where }) => `  ${key}: ${promise}: ${admitted} of at most ${bound}, ${where}`);
  return [`seed ${seed}; replay: SEED=${seed} npx vitest run packages/headgate/test/simulation.test.ts`, ...lines];
}

/** How near to its bound each key came. */
function detailsOf({ fingerprint, history, measures }: RunResult): string {
  const lines = measures.map(({ key, promise, admitted, bound, where }) => `  ${key}: ${promise}: ${admitted} of ${bound}, ${where}`);
  return [`${history.checks} checks, ${history.refused} refused, ${history.storeCalls} store calls, ${fingerprint}`, ...lines].join('\n');
}

describe('1,500 processes and 8 shards in virtual time', () => {
  it(`never let more pass than is promised, with delays, cuts, joins and crashes, in ${seeds.length} seeds`, async () => {
    const broken: string[] = [];
    let checks = 0;
    for (const seed of seeds) {
      const result = await run(seed);
      checks += result.history.checks;
      broken.push(...reportOf(result));
      if (given !== undefined) console.log(detailsOf(result));
    }
    expect(broken.join('\n')).toBe('');
    // A schedule that asks for next to nothing would keep every promise.
    expect(checks / seeds.length).toBeGreaterThan(5000);
  }, 900_000);

  it('go the same way again with the same seed', async () => {
    const [first, again, other] = [await run(7), await run(7), await run(8)];
    expect(again.fingerprint).toBe(first.fingerprint);
    expect(other.fingerprint).not.toBe(first.fingerprint);
  });

  const sabotages: readonly [Sabotage, string][] = [
    ['every lot twice', 'leased'],
    ['windows end late', 'leased'],
    ['totals forgotten', 'synced'],
  ];
  it.each(sabotages)('are seen to break the promise within three seeds once a link is broken: %s', async (sabotage, prefix) => {
    const results = [await run(1, sabotage), await run(2, sabotage), await run(3, sabotage)];
    const keys = results.flatMap(({ broken }) => broken.map(({ key }) => key)).filter((key) => key.startsWith(prefix));
    expect(keys).not.toEqual([]);
  });
});
