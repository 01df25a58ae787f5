import { describe, expect, it } from 'vitest';
import { judge, type Counts, type Run, type Sample } from './verdict.mjs';

const start = 1_800_000_000_000;
const totalMs = 100_000;
const rounds = 20;

const verbs = 'check refused group hold reserve refund receipt acquire abort aborted peek ban reload visit'.split(' ');
const happened = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 10]));

const counts = (other: Partial<Counts> = {}): Counts => ({
  sources: happened(['store', 'lease', 'sync', 'note', 'fallback']),
  verbs: happened(verbs),
  events: {},
  errors: { count: 0, texts: [] },
  degraded: [],
  away: [],
  stalls: [],
  ...other,
});

const figures = {
  heap: 14e6,
  external: 3e6,
  rss: 100e6,
  handles: { TCPSocketWrap: 2, PipeWrap: 1 },
  census: { timers: 10, emitters: 60, promises: 200 },
  clientListeners: 1,
  signalListeners: 0,
  processListeners: 13,
  remains: { limiters: 0, stores: 0, rules: 0 },
  notes: 500,
  localKeys: 400,
  owing: 0,
  unavailable: 0,
  lost: 0,
  unreturned: 3,
};
const redis = { memory: 2e6, keys: 4000, connections: 3, blocked: 0 };

interface Planted {
  /** By the number of the sample, beginning with 0. */
  readonly figures?: (round: number) => Readonly<Record<string, unknown>>;
  readonly redis?: (round: number) => Readonly<Record<string, number>>;
  readonly counts?: (round: number) => Partial<Counts>;
  readonly slow?: Sample['slow'];
  readonly ended?: Partial<Run['ended']>;
  readonly found?: Run['left']['found'];
}

/** Twenty rounds of 5 s, with a cut in each that explains half a second's decisions; all is well but for what is planted. */
function run(planted: Planted = {}): Run {
  const samples = Array.from({ length: rounds }, (_, round): Sample => {
    const from = start + round * 5000 + 2000;
    return {
      atMs: (round + 1) * 5000 - 1,
      processes: [
        {
          figures: { ...figures, ...planted.figures?.(round) } as typeof figures,
          counts: counts({ degraded: [[from + 400, 7]], ...planted.counts?.(round) }),
        },
      ],
      redis: { ...redis, ...planted.redis?.(round) },
      disturbance: { cause: 'kill', from, until: from + 1000 },
      slow: planted.slow ?? [],
    };
  });
  return {
    samples,
    totalMs,
    ended: { counts: [counts()], byThemselves: true, ...planted.ended },
    left: { afterMs: 0, found: planted.found ?? [{ rule: 'hourly', count: 12, longestMs: 1_800_000, forEver: 0 }] },
  };
}

const grown = (planted: Planted): string[] => judge(run(planted)).rows.flatMap(({ what, ok }) => (ok ? [] : [what]));
const faults = (planted: Planted): string => judge(run(planted)).faults.join('\n');

describe('the verdict of a soak', () => {
  it('passes a run in which nothing grows, and tells why decisions were made without the store', () => {
    const { ok, rows, causes, faults: none } = judge(run());
    expect({ ok, none }).toEqual({ ok: true, none: [] });
    expect(rows.every((row) => row.ok)).toBe(true);
    expect(causes.map(({ name, degraded }) => [name, degraded])).toContainEqual(['kill', 7 * rounds]);
  });

  it('finds memory that grows with the time', () => {
    expect(grown({ figures: (round) => ({ heap: 14e6 + round * 2e5 }) })).toEqual(['heap']);
    expect(grown({ figures: (round) => ({ heap: 200e6 + round * 5e5 }) })).toEqual(['heap']);
    expect(grown({ figures: (round) => ({ rss: 100e6 + round * 2e6 }) })).toEqual(['RSS']);
    expect(grown({ redis: (round) => ({ memory: 2e6 + round * 3e4 }) })).toEqual(['Redis memory']);
    expect(grown({ redis: (round) => ({ keys: 4000 + round * 50 }) })).toEqual(['Redis keys']);
  });

  it('does not mind the warm-up, nor a peak', () => {
    expect(grown({ figures: (round) => ({ heap: round < 4 ? 5e6 : 14e6 }) })).toEqual([]);
    expect(grown({ figures: (round) => ({ heap: round === 18 ? 40e6 : 14e6 }) })).toEqual([]);
  });

  it('finds a single handle, listener or object that stays', () => {
    const late = (round: number): boolean => round >= 15;
    expect(grown({ figures: (round) => ({ handles: { TCPSocketWrap: late(round) ? 3 : 2 } }) })).toEqual(['active TCPSocketWrap']);
    expect(grown({ figures: (round) => (late(round) ? { handles: { ...figures.handles, FSWatcher: 1 } } : {}) })).toEqual([
      'active FSWatcher',
    ]);
    expect(grown({ figures: (round) => ({ clientListeners: late(round) ? 2 : 1 }) })).toEqual(["listeners on the app's client"]);
    expect(grown({ figures: (round) => ({ signalListeners: late(round) ? 1 : 0 }) })).toEqual(["listeners on the app's signal"]);
    expect(grown({ figures: (round) => ({ remains: { ...figures.remains, stores: late(round) ? 1 : 0 } }) })).toEqual([
      'let go, in memory: stores',
    ]);
    // Not every sample has a census.
    const emitters = (round: number): number => (late(round) ? 61 : 60);
    expect(grown({ figures: (round) => ({ census: round % 2 === 0 ? {} : { ...figures.census, emitters: emitters(round) } }) })).toEqual([
      'event emitters in memory',
    ]);
    expect(grown({ figures: (round) => ({ owing: late(round) ? 1 : 0 }) })).toEqual(['keys owing']);
  });

  it('finds decisions without the store that nothing explains', () => {
    const at = start + 4500;
    const degraded = (round: number): Partial<Counts> => (round === 0 ? { degraded: [[at, 2]] } : {});
    expect(faults({ counts: degraded })).toContain('2 decisions were made without the store while it was there');
    expect(faults({ counts: (round) => (round === 0 ? { away: [[at, 1]] } : {}) })).toContain('1 verbs said that the store is away');
    expect(faults({ counts: degraded, slow: [{ from: at - 200, until: at - 100 }] })).toBe('');
    expect(faults({ counts: (round) => ({ ...degraded(round), stalls: [{ from: at - 200, until: at - 100 }] }) })).toBe('');
  });

  it('finds errors, what was dropped, and a store that does not come back', () => {
    expect(faults({ ended: { counts: [counts({ errors: { count: 3, texts: ['check: oops'] } })] } })).toContain('check: oops');
    expect(faults({ figures: (round) => ({ lost: round === 3 ? 1 : 0 }) })).toContain('dropped');
    expect(faults({ figures: (round) => ({ unavailable: round === 3 ? 1 : 0 }) })).toContain('not in use again');
    expect(faults({ ended: { byThemselves: false } })).toContain('kept a process alive');
  });

  it('finds keys without an end, and keys that outlive their rule', () => {
    expect(faults({ found: [{ rule: 'hourly', count: 9, longestMs: 1000, forEver: 1 }] })).toContain('1 keys of hourly have no TTL');
    expect(faults({ found: [{ rule: 'window', count: 2, longestMs: 9000, forEver: 0 }] })).toContain('2 keys of window are still there');
  });

  it('fails if something was never done, which then was not shown to leave nothing behind', () => {
    const without = counts({ sources: happened(['store', 'lease', 'sync', 'fallback']), verbs: happened(verbs.slice(1)) });
    expect(faults({ ended: { counts: [without] } })).toBe('never happened: check, source note');
  });
});
