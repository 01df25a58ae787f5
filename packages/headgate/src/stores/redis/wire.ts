import { algorithmOf } from '../../algorithms/index.js';
import { ceiling, debtCap } from '../../algorithms/token-bucket.js';
import { bordersAt } from '../../calendar.js';
import { StoreError } from '../../errors.js';
import type { CountedLimit } from '../../limit.js';
import type { Verdict } from '../batch.js';
import { costsTogether, outcomeOf, passes } from '../outcome.js';
import type { Check, Group, Outcome } from '../store.js';

/** A batch of groups as the decide script takes it; see the header of `scripts/decide.lua`. */
export interface Call {
  readonly keys: string[];
  readonly args: [limits: string, plan: string, period: string];
}

/** How to turn a check into the name of its state's key, and the store's clock as this process believes it to be. */
export interface Naming {
  readonly keyOf: (check: Check) => string;
  readonly now: number;
}

const flagsOf = (check: Check): number => (check.countRefused ? 1 : 0) + (check.shadow ? 2 : 0);

/** A limit's numbers, as the script's header lists them by kind. */
function numbersOf(limit: CountedLimit, aheadUs: number | undefined, now: number): readonly number[] {
  switch (limit.kind) {
    case 'tokenBucket':
      return [
        limit.creditUnits,
        limit.creditUs,
        limit.capacity,
        ceiling(limit, aheadUs),
        debtCap(limit, 'settle'),
        debtCap(limit, 'refused'),
      ];
    case 'fixedWindow':
      return [limit.limit, limit.windowUs, limit.from === 'epoch' ? 0 : 1];
    case 'slidingWindow':
    case 'slidingLog':
      return [limit.limit, limit.windowUs];
    case 'quota':
      return [limit.limit, ...bordersAt(limit, now)];
    case 'concurrency':
      return [limit.limit, limit.expiresUs];
    case 'consecutiveFailures':
      return [limit.limit, limit.free, limit.firstWaitUs, limit.longestWaitUs, limit.forgetUs];
  }
}

/** The number of each kind in the scripts. */
export const kindNumber: Record<CountedLimit['kind'], number> = {
  tokenBucket: 1,
  fixedWindow: 2,
  slidingWindow: 3,
  slidingLog: 4,
  quota: 5,
  concurrency: 6,
  consecutiveFailures: 7,
};

const rendered = new WeakMap<CountedLimit, string[]>();

function limitText(check: Check, now: number): string {
  const { limit, aheadUs } = check;
  const flags = flagsOf(check);
  const steady = aheadUs === undefined && limit.kind !== 'quota';
  const known = steady ? rendered.get(limit)?.[flags] : undefined;
  if (known !== undefined) return known;
  const text = `[${[kindNumber[limit.kind], flags, ...numbersOf(limit, aheadUs, now)].join(',')}]`;
  if (steady) {
    const texts = rendered.get(limit) ?? [];
    texts[flags] = text;
    rendered.set(limit, texts);
  }
  return text;
}

const sameShape = (a: Check, b: Check): boolean =>
  a.limit === b.limit &&
  a.cost === b.cost &&
  a.least === b.least &&
  a.aheadUs === b.aheadUs &&
  a.countRefused === b.countRefused &&
  a.shadow === b.shadow &&
  b.holder === undefined;

/** Whether every group asks the same of other keys: then the plan is sent once, and repeated over the keys. */
function isUniform(groups: readonly Group[]): boolean {
  const first = groups[0];
  if (first === undefined) return false;
  for (const group of groups) {
    if (group.dry !== first.dry || group.checks.length !== first.checks.length) return false;
    for (let i = 0; i < group.checks.length; i += 1) {
      const [a, b] = [first.checks[i], group.checks[i]];
      if (a === undefined || b === undefined || !sameShape(a, b)) return false;
    }
  }
  return true;
}

/** The limits of a batch, each listed once. */
class Limits {
  readonly texts: string[] = [];
  readonly #seen: Check[] = [];
  readonly #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  indexOf(check: Check): number {
    const { limit, aheadUs, countRefused, shadow } = check;
    const known = this.#seen.findIndex(
      (s) => s.limit === limit && s.aheadUs === aheadUs && s.countRefused === countRefused && s.shadow === shadow,
    );
    if (known >= 0) return known + 1;
    this.#seen.push(check);
    return this.texts.push(limitText(check, this.#now));
  }
}

function planOf(groups: readonly Group[], limits: Limits, indexOf: (check: Check) => number): string {
  const plan: (number | string)[] = [];
  for (const { checks, dry } of groups) {
    plan.push(dry ? -checks.length : checks.length);
    for (const check of checks) {
      const last = check.limit.kind === 'concurrency' ? `"${check.holder ?? ''}"` : (check.least ?? check.cost);
      plan.push(indexOf(check), limits.indexOf(check), check.cost, last);
    }
  }
  return `[${plan.join(',')}]`;
}

/** Encodes groups for one script call: at most 64 checks, so that other clients of Redis never wait long. */
export function encode(groups: readonly Group[], { keyOf, now }: Naming): Call {
  const limits = new Limits(now);
  const indices = new Map<string, number>();
  let position = 0;
  const keys: string[] = [];
  for (const { checks } of groups) {
    for (const check of checks) {
      const key = keyOf(check);
      keys.push(key);
      indices.set(key, 0);
    }
  }
  const first = groups[0];
  if (first !== undefined && indices.size === keys.length && isUniform(groups)) {
    const plan = planOf([first], limits, () => (position += 1));
    return { keys, args: [`[${limits.texts.join(',')}]`, plan, String(first.checks.length)] };
  }
  const unique = [...indices.keys()];
  unique.forEach((key, index) => indices.set(key, index + 1));
  const plan = planOf(groups, limits, () => indices.get(keys[position++] ?? '') ?? 0);
  return { keys: unique, args: [`[${limits.texts.join(',')}]`, plan, '0'] };
}

interface Answer {
  readonly view: number[];
  readonly allowed: boolean;
  readonly taken: number;
  readonly bannedUntil?: number;
  readonly failure?: 'T' | 'E';
}

/** Reads a reply from a position on; replies are flat, so every reader moves it. */
export class Reader {
  #at = 1;
  readonly #reply: readonly unknown[];
  constructor(reply: readonly unknown[]) {
    this.#reply = reply;
  }

  peek(): unknown {
    return this.#reply[this.#at];
  }

  next(): unknown {
    this.#at += 1;
    return this.#reply[this.#at - 1];
  }

  answer(check: Check): Answer {
    const first = this.next();
    if (typeof first === 'string') {
      if (first.startsWith('B')) return { view: [], allowed: false, taken: 0, bannedUntil: Number(first.slice(1)) };
      return { view: [], allowed: false, taken: 0, failure: first === 'T' ? 'T' : 'E' };
    }
    const head = Number(first);
    const allowed = head >= 0;
    const view = [allowed ? head : -1 - head];
    const size = algorithmOf(check.limit.kind).viewSize;
    while (view.length < size) view.push(Number(this.next()));
    const partial = check.least !== undefined && check.least > 0 && check.least < check.cost;
    return { view, allowed, taken: partial ? Number(this.next()) : allowed ? check.cost : 0 };
  }
}

/** What the reader's next numbers say of a group. */
export function verdictOf(group: Group, reader: Reader, now: number): Verdict {
  const { checks, dry } = group;
  const answers = checks.map((check) => reader.answer(check));
  const broken = answers.findIndex(({ failure }) => failure === 'E');
  if (broken >= 0) {
    return new StoreError(
      `rule ${JSON.stringify(checks[broken]?.rule)}: its key in Redis holds a value that Headgate did not write; delete it or use another prefix`,
      {
        code: 'HEADGATE_FOREIGN_VALUE',
      },
    );
  }
  if (answers.some(({ failure }) => failure === 'T')) return 'stale';
  const allowed = passes(
    group,
    answers.map((answer) => answer.allowed),
  );
  const costs = costsTogether(group, (check) => `${check.rule}\n${check.limit.kind}\n${check.key}`);
  const outcomes: Outcome[] = checks.map((check, index) => {
    const { view = [], allowed: passed = false, taken = 0, bannedUntil } = answers[index] ?? {};
    const cost = costs[index] ?? check.cost;
    return outcomeOf({ check, cost, now, view, allowed: passed, taken: allowed && !dry ? taken : 0, bannedUntil });
  });
  return { now, allowed, outcomes, source: 'store', degraded: false };
}

/** Decodes a reply of the decide script into one verdict per group, and the store's clock. */
export function decode(reply: unknown, groups: readonly Group[]): { now: number; verdicts: Verdict[] } {
  if (!Array.isArray(reply)) throw new StoreError('the decide script answered with something that is no list');
  const now = Number(reply[0]);
  const reader = new Reader(reply);
  return { now, verdicts: groups.map((group) => verdictOf(group, reader, now)) };
}
