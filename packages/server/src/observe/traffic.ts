import { systemClock, type Clock, type Decision } from 'headgate';
import type { Crowd } from './crowd.js';
import { standardError } from './distinct.js';
import { KeyedHash, type HashSeed } from './keyed-hash.js';
import { Masks } from './masks.js';
import { otherRules } from './rule-labels.js';
import type { Span } from './span.js';
import type { Refusals } from './top-refused.js';
import { judge, shareOfKeys, type Counted, type Judgement } from './verdict.js';
import { Windows } from './windows.js';

/** The last minute, or the last hour; each begins at a whole step of the clock, so it has five sixths of its length at least. */
export type Window = '1m' | '1h';

/** Whether a rule is wrong or attacked. Counts are of this process. */
export interface TrafficReport extends Judgement {
  /** The rule, or `…others` for all rules that have no place of their own. */
  readonly rule: string;
  readonly window: Window;
  /** How many seconds of the window are covered. */
  readonly seconds: number;
  /** Checks decided, and of these refused by the rule (a rule that only observes: would have been), or because the store was away. */
  readonly checks: number;
  readonly refused: number;
  readonly unavailable: number;
  /** About how many different keys (2.3 % standard error). */
  readonly distinctSeen: number;
  readonly distinctRefused: number;
  /** The part of all keys that were refused, 0 to 1. */
  readonly shareRefused: number;
  /** The keys refused most, masked: at least `refused` times, at most `atMost`; `share` is the part of all refusals that is sure. */
  readonly topRefused: readonly (Refusals & { readonly share: number })[];
}

/** Watches who is refused, by rule. */
export interface Traffic {
  /** Counts decisions; about 0.2 microseconds each. */
  observe(decisions: readonly Decision[]): void;
  /** Of all rules without a place, together, if this is one; undefined if nothing was checked in the last hour. */
  report(rule: string, window?: Window): TrafficReport | undefined;
  /** What a report is made of, for metrics. */
  count(rule: string, window: Window): Counted | undefined;
  /** Rules that were checked in the last hour; {@link otherRules} stands for those without a place. */
  rules(): string[];
  /** What a key is called in reports. */
  maskOf(key: string): string;
}

export interface TrafficOptions {
  /** Of masks: servers that share it show the same. */
  readonly secret: string | Buffer;
  readonly clock?: Pick<Clock, 'nowUs'>;
  /** Rules with a place of their own, 1,000 by default; the others share one. About 30 KB each, and at most 100 KB where many keys are refused all the time. */
  readonly maxRules?: number;
  /** Of the sketches; random by default, so that no client can choose keys that meet. */
  readonly seed?: HashSeed;
}

/** As many of the keys refused most are told. */
const told = 10;
/** How often places are looked for that nobody needs, in microseconds. */
const releaseUs = 10_000_000;

const countedOf = (span: Span): Counted => {
  const { checks, refused, unavailable, distinctSeen, distinctRefused } = span;
  return { checks, refused, unavailable, distinctSeen, distinctRefused, top: span.top(told) };
};

function crowdOf(windows: Windows, now: number): Crowd {
  const [minute, before] = [windows.minute(now), windows.before(now)];
  const keys = { keys: minute.distinctSeen, keysBefore: before.distinctSeen };
  before.merge([minute]);
  return {
    ...keys,
    checks: minute.checks,
    keysTogether: before.distinctSeen,
    checksTogether: before.checks,
    quiet: windows.quiet(now),
    error: 3 * standardError,
  };
}

/** Watches who is refused, in bounded memory whatever the number of keys and rules. */
export function createTraffic({ secret, clock = systemClock(), maxRules = 1000, seed }: TrafficOptions): Traffic {
  const masks = new Masks(secret);
  const hash = new KeyedHash(seed);
  const places = new Map<string, Windows>();
  let others: Windows | undefined;
  let releasedAt = clock.nowUs();

  function release(now: number): void {
    releasedAt = now;
    for (const [rule, windows] of places) if (windows.isIdle(now)) places.delete(rule);
    if (others?.isIdle(now)) others = undefined;
  }

  function placeOf(rule: string, now: number): Windows {
    const known = places.get(rule);
    if (known !== undefined) return known;
    if (places.size >= maxRules && now >= releasedAt + releaseUs) release(now);
    if (places.size >= maxRules) return (others ??= new Windows(now, masks));
    const windows = new Windows(now, masks);
    places.set(rule, windows);
    return windows;
  }

  const count = (windows: Windows, window: Window, now: number): Counted =>
    countedOf(window === '1m' ? windows.minute(now) : windows.hour(now));

  return {
    observe(decisions) {
      const now = clock.nowUs();
      for (const { rule, key, wouldAllow, reason } of decisions) {
        const span = placeOf(rule, now).at(now);
        span.see(hash.of(key));
        if (wouldAllow) continue;
        if (reason === 'store-unavailable') span.unavailable += 1;
        else span.refuse(hash, key);
      }
    },

    report(rule, window = '1m') {
      const now = clock.nowUs();
      release(now);
      const windows = places.get(rule) ?? others;
      if (windows === undefined) return undefined;
      const { top, ...counted } = count(windows, window, now);
      const { verdict, reasons } = judge({ top, ...counted }, window === '1m' ? crowdOf(windows, now) : undefined);
      return {
        rule: places.has(rule) ? rule : otherRules,
        window,
        seconds: windows.seconds(now, window === '1m' ? 'minute' : 'hour'),
        ...counted,
        shareRefused: shareOfKeys({ top, ...counted }),
        verdict,
        reasons,
        topRefused: top.map((key) => ({ ...key, share: key.refused / counted.refused })),
      };
    },

    count(rule, window) {
      const windows = rule === otherRules ? others : places.get(rule);
      return windows && count(windows, window, clock.nowUs());
    },

    rules() {
      release(clock.nowUs());
      return [...places.keys(), ...(others === undefined ? [] : [otherRules])];
    },

    maskOf: (key) => masks.maskOf(key),
  };
}
