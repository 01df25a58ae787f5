import { describe, expect, it } from 'vitest';
import type { Strike } from './faults/fault.js';
import type { Answer, Recording } from './recording.js';
import { judge } from './verdict.js';

/** The fault began, was undone, and the store served again: in milliseconds after the start, which is a whole hour. */
const [start, began, undone, serves] = [1_800_000_000_000, 2000, 4000, 4010];
const table = {
  window: { spec: { kind: 'fixedWindow', size: 8, windowUs: 60_000_000, from: 'epoch' } },
  first: { spec: { kind: 'fixedWindow', size: 8, windowUs: 60_000_000, from: 'first-request' } },
  jobs: { spec: { kind: 'concurrency', size: 2, expiresUs: 60_000_000 } },
} as const;

const answer = (ms: number, other: Partial<Answer> = {}): Answer => {
  const degraded = other.source === 'fallback';
  const at = (start + ms) * 1000;
  const asked = { rule: 'window', key: 'k', asked: start + ms, took: 1, at, resetAfterMs: 60_000 - ms };
  return { ...asked, allowed: true, source: 'store', degraded, reason: 'ok', ...other };
};
const times = (count: number, ms: number, other?: Partial<Answer>): Answer[] => Array.from({ length: count }, () => answer(ms, other));

/** A run that passes: 4 admitted before, 2 alone in each process, 2 afterwards, and then refused. */
const well = (): Answer[] => [
  ...times(2, 1000),
  answer(1500, { allowed: false, key: 'full' }),
  ...times(2, 3000, { source: 'fallback' }),
  answer(4100),
  answer(4200, { allowed: false }),
  ...times(30, 5000, { allowed: false }),
];

interface Planted {
  readonly more?: readonly Answer[];
  readonly strike?: Partial<Strike>;
  readonly recording?: Partial<Recording>;
}

/** Judges two processes that do well, the first of them but for what is planted. */
function reasons({ more = [], strike, recording }: Planted = {}): string[] {
  const process = (answers: Answer[]): Recording => {
    const degraded = answers.filter((each) => each.degraded).length;
    return { answers, turns: [], unanswered: 0, stats: { degraded, checks: answers.length }, errors: [], table };
  };
  const recordings = [{ ...process([...well(), ...more]), ...recording }, process(well())];
  const fault = { name: 'fault', title: 'a fault', start: () => Promise.reject(new Error('not here')) };
  const struck = { undone: start + undone, serves: start + serves, ...strike };
  return [...judge({ fault, strike: struck, began: start + began, recordings, deadlineMs: 10 }).reasons];
}

const stalled = { turns: [{ until: start + 3200, lag: 200 }] };
const wellAllTheTime: Partial<Strike> = { well: { stalledMs: 200, but: [] } };
const refusedAlone = (ms: number, took: number): Answer => answer(ms, { source: 'fallback', allowed: false, took });

describe('a row passes', () => {
  it.each<[string, Planted]>([
    ['where all is well', {}],
    ['with an answer within deadline and grace', { more: [refusedAlone(3000, 29)] }],
    ['with an answer as late as its process was', { more: [refusedAlone(3000, 229)], recording: stalled }],
    ['at the limit: before, alone and afterwards', { more: [...times(2, 1200), ...times(4, 3100, { source: 'fallback' })] }],
    ['with the limit admitted once more after counters were forgotten', { more: times(6, 4500), strike: { forgot: start + undone } }],
    [
      'with as many above the limit as were admitted in the replication lag',
      { more: [...times(2, 1990), ...times(2, 4500)], strike: { lag: { from: start + 1900, until: start + began } } },
    ],
    ['with another window that begins with a request', { more: [...times(8, 0), ...times(8, 4500, { resetAfterMs: 60_000 })].map(first) }],
    ['with holders that had ended', { more: [holder(1000, 1100), holder(1050, 1200), holder(1150, 1300)] }],
    [
      'degraded in a stall while the driver was not answered either',
      { more: [refusedAlone(3000, 200)], recording: stalled, strike: busy() },
    ],
  ])('%s', (_, planted) => {
    expect(reasons(planted)).toEqual([]);
  });
});

describe('a row fails', () => {
  it.each<[string, RegExp, Planted]>([
    ['for a late answer', /1 answers too late: window k 31\.0 ms, 1\.0 too late/, { more: [refusedAlone(3000, 31)] }],
    ['for one later than its process was', /1 answers too late/, { more: [refusedAlone(3000, 240)], recording: stalled }],
    ['for a check that was never answered', /1 checks were never answered/, { recording: { unanswered: 1 } }],
    ['for an error', /1 errors: Error: no/, { recording: { errors: ['Error: no\n  at x'] } }],
    ['for decisions that stats() does not count', /stats\(\) counts 2 degraded decisions, there were 4/, { recording: { stats: none() } }],
    ['for what the store admitted above the limit', /the store over the bound in 1 budgets: 9\/8 window k/, { more: times(3, 1200) }],
    ['even if it forgot in between', /the store over the bound/, { more: times(7, 4500), strike: { forgot: start + undone } }],
    ['for too many in a window from its first request', /9\/8 first k/, { more: times(9, 1000).map(first) }],
    ['for too many holders', /3\/2 jobs k/, { more: [holder(1000, 1100), holder(1050, 1200), holder(1090, 1300)] }],
    [
      'for what was admitted alone above the limit',
      /alone over the bound.*: 9\/8 window k/,
      { more: times(5, 3100, { source: 'fallback' }) },
    ],
    ['if the store was not used soon', /used again after 1091 ms/, { strike: { serves: start + 3010 } }],
    ['if the end is not well', /in the last second 20 of 84/, { more: Array.from({ length: 20 }, () => refusedAlone(5000, 1)) }],
    [
      'for a stalled decision without the store',
      /3 stalled decisions/,
      { more: [refusedAlone(3000, 200)], recording: stalled, strike: wellAllTheTime },
    ],
    ['for many without the store, which was well', /4 of 4 decisions without/, { strike: wellAllTheTime }],
    ['if nothing was decided after the fault', /proves little: the store admitted nothing after/, { strike: { undone: start + 9000 } }],
  ])('%s', (_, expected, planted) => {
    expect(reasons(planted).join('\n')).toMatch(expected);
  });
});

function first(each: Answer): Answer {
  return { ...each, rule: 'first' };
}
function holder(from: number, until: number): Answer {
  return answer(from, { rule: 'jobs', until: (start + until) * 1000 });
}
function busy(): Partial<Strike> {
  // What degraded otherwise was asked before.
  return { well: { stalledMs: 200, but: [{ from: start + 2990, until: start + 3190 }] } };
}
function none(): Recording['stats'] {
  return { degraded: 0, checks: 0 };
}
