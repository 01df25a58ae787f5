import type { Masks } from './masks.js';
import { Pace } from './pace.js';
import { Span } from './span.js';

const second = 1_000_000;
const minute = 60 * second;

/** The last minute is six of these... */
const stepUs = 10 * second;
/** ...and the hour before it at most six of these. */
const periodUs = 10 * minute;
const kept = 6;

const floor = (us: number, unit: number): number => Math.floor(us / unit) * unit;
/** Where the oldest span begins that is kept, of those with this length. */
const oldestOf = (now: number, unit: number): number => floor(now, unit) - (kept - 1) * unit;

/**
 * A rule's last minute and last hour, by spans that begin at whole steps of the clock: the minute is the last 50 to 60 seconds, the hour the
 * last 50 to 60 minutes. What leaves the minute is merged into its period of the hour, so that a check is counted in one place only and
 * the hour *before* the minute can be told from it. All times in microseconds.
 */
export class Windows {
  readonly #masks: Masks;
  /** When the first check came. */
  readonly #born: number;
  /** The oldest first. */
  readonly #steps: Span[] = [];
  #periods: Span[] = [];
  #current: Span;
  /** When the last step began, before this one, in which anything was checked. */
  #checked: number;
  readonly #pace = new Pace();

  constructor(now: number, masks: Masks) {
    this.#masks = masks;
    this.#born = now;
    this.#checked = now;
    this.#current = this.#begin(now);
  }

  /** Where a check of this moment is counted. */
  at(now: number): Span {
    if (now >= this.#current.from + stepUs) this.#turn(now);
    return this.#current;
  }

  /** Whether nothing was checked in the last hour. Costs next to nothing. */
  isIdle(now: number): boolean {
    return now - (this.#current.checks > 0 ? this.#current.from : this.#checked) > kept * periodUs;
  }

  /** The last minute as one. */
  minute(now: number): Span {
    this.at(now);
    return this.#union(this.#steps);
  }

  /** What of the last hour is before the last minute, as one. */
  before(now: number): Span {
    this.at(now);
    return this.#union(this.#periods);
  }

  hour(now: number): Span {
    this.at(now);
    return this.#union([...this.#periods, ...this.#steps]);
  }

  /** How many seconds of a window have passed since the first check. */
  seconds(now: number, window: 'minute' | 'hour'): number {
    const unit = window === 'minute' ? stepUs : periodUs;
    return (now - Math.max(oldestOf(now, unit), this.#born)) / second;
  }

  /** Different keys in a quiet minute of the last hour; undefined if no whole minute is known. */
  quiet(now: number): number | undefined {
    return this.#pace.quiet(this.at(now).from / stepUs);
  }

  /** Ends a step and begins the next, or the one after a gap. */
  #turn(now: number): void {
    const { from, checks } = this.#current;
    if (checks > 0) this.#checked = from;
    if (from + stepUs - this.#born >= minute) this.#pace.record(from / stepUs, Span.distinctSeenIn(this.#steps));
    this.#expire(now);
    this.#current = this.#begin(now);
  }

  #begin(now: number): Span {
    const span = new Span(floor(now, stepUs), this.#masks);
    this.#steps.push(span);
    return span;
  }

  #expire(now: number): void {
    const oldest = oldestOf(now, stepUs);
    for (let step = this.#steps[0]; step !== undefined && step.from < oldest; step = this.#steps[0]) {
      this.#steps.shift();
      if (step.checks > 0) this.#periodOf(step).merge([step]);
    }
    const oldestPeriod = oldestOf(now, periodUs);
    this.#periods = this.#periods.filter(({ from }) => from >= oldestPeriod);
  }

  #periodOf(step: Span): Span {
    const from = floor(step.from, periodUs);
    const last = this.#periods.at(-1);
    if (last?.from === from) return last;
    const period = new Span(from, this.#masks);
    this.#periods.push(period);
    return period;
  }

  #union(spans: readonly Span[]): Span {
    const union = new Span(spans[0]?.from ?? 0, this.#masks);
    union.merge(spans);
    return union;
  }
}
