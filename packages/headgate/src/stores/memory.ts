import { algorithmOf, type Algorithm, type Step } from '../algorithms/index.js';
import { prolong, type ConcurrencyState } from '../algorithms/concurrency.js';
import { systemClock, type Clock } from '../clock.js';
import { ConfigError, rejectUnknownOptions, show, StoreError } from '../errors.js';
import { sizeOf, type CountedLimit } from '../limit.js';
import { Budgets, fullnessOf, type Budget, type Page } from './budgets.js';
import { costsTogether, groupOf, outcomeOf, passes, returnableUntil } from './outcome.js';
import type { Check, GiveBack, Group, GroupOutcome, LoneOutcome, Receipt, Store, Target } from './store.js';

/** Options of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /** Keys held at most: 1 to 10,000,000, 100,000 by default. */
  readonly maxKeys?: number;
  /** For tests: time as the store sees it. */
  readonly clock?: Clock;
}

/** A memory store, and how full it is. */
export interface MemoryStore extends Store {
  /** `dropped`: budgets that gave way to new ones; `shared`: checks decided on a rule's shared budget, as there was no room. */
  stats(): { readonly keys: number; readonly dropped: number; readonly shared: number };
}

/** What one budget goes through while a group is decided. */
interface Slot {
  readonly algorithm: Algorithm<CountedLimit, unknown>;
  readonly page: Page;
  readonly key: string;
  readonly stored: Budget | undefined;
  readonly base: unknown;
  state: unknown;
}

/** Whether it asks for its cost, and nothing else. */
const isPlain = ({ least, aheadUs, countRefused }: Check): boolean => least === undefined && aheadUs === undefined && !countRefused;

/** A budget's state; undefined if it has none. */
function stateOf({ cells }: Algorithm<CountedLimit, unknown>, budget: Budget): unknown {
  if (!budget.counted) return undefined;
  return cells === undefined ? budget.state : cells.read(budget);
}

function keep({ cells }: Algorithm<CountedLimit, unknown>, budget: Budget, state: unknown): void {
  budget.counted = true;
  if (cells === undefined) budget.state = state;
  else cells.write(budget, state);
}

function slotOf(
  algorithm: Algorithm<CountedLimit, unknown>,
  { page, key, stored, limit, now }: Pick<Slot, 'page' | 'key' | 'stored'> & { limit: CountedLimit; now: number },
): Slot {
  const base = algorithm.current(stored && stateOf(algorithm, stored), limit, now);
  return { algorithm, page, key, stored, base, state: base };
}

/**
 * Counters in this process's memory: for one process, for tests, and for deciding while the shared store is away.
 * Bounded; full, it drops the fullest budgets first, and if only closed ones are left, new keys of a rule share one budget.
 *
 * @throws ConfigError if `maxKeys` is out of range
 * @example
 * ```ts
 * import { createLimiter, fixedWindow, memoryStore } from 'headgate';
 *
 * const limiter = createLimiter({
 *   store: memoryStore({ maxKeys: 10_000 }),
 *   rules: { login: { limit: fixedWindow({ limit: 5, window: '1m' }) } },
 * });
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return createMemoryStore(options);
}

/** A memory store, and what only the layers use. */
export interface LocalMemoryStore extends MemoryStore {
  decideNow(group: Group): GroupOutcome;
  /** Changes a budget's state, given as it is now, as its limit's algorithm has it. */
  adjust(check: Check, change: (state: unknown) => unknown): void;
  /** Drops some of what has expired: nothing is added any more by which it would leave. */
  tidy(): void;
}

/** `memoryStore`, with what only the layers use. */
export function createMemoryStore(options: MemoryStoreOptions): LocalMemoryStore {
  rejectUnknownOptions('memoryStore', options, ['maxKeys', 'clock']);
  const { maxKeys = 100_000, clock = systemClock() } = options;
  if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > 1e7) {
    throw new ConfigError('HEADGATE_BAD_OPTION', `memoryStore.maxKeys: expected a whole number from 1 to 10000000; got ${show(maxKeys)}`);
  }
  const budgets = new Budgets(maxKeys);
  const redeemed = new Budgets(maxKeys);
  let shared = 0;
  let closed = false;

  function assertOpen(): void {
    if (closed) throw new StoreError('the memory store is closed', { code: 'HEADGATE_CLOSED' });
  }

  /** The budget's own entry; a new key that finds no room gets the rule's shared one. */
  function open(check: Check, now: number): Slot {
    const { rule, key, limit } = check;
    const algorithm = algorithmOf(limit.kind);
    const page = budgets.page(rule, limit.kind);
    let stored = page.get(key);
    if (stored !== undefined || budgets.hasRoom(now)) return slotOf(algorithm, { page, key, stored, limit, now });
    shared += 1;
    stored = page.get('');
    return slotOf(algorithm, { page, key: '', stored, limit, now });
  }

  const overreaches = ({ algorithm, stored }: Slot, { limit }: Check, now: number): boolean => {
    const state = stored && stateOf(algorithm, stored);
    return state !== undefined && algorithm.overreaches(state, limit, now);
  };

  /** Writes a slot's state, of which so much remains, into its budget, or into a new one if that has left meanwhile. */
  function write(slot: Slot, { limit }: Check, { remaining, now, left }: { remaining: number; now: number; left: boolean }): void {
    const { algorithm, page, key, stored, state } = slot;
    const bannedUntil = stored?.bannedUntil ?? 0;
    const expiresAt = Math.max(algorithm.expiresAt(state, limit, now), bannedUntil);
    if (expiresAt <= now) {
      if (stored !== undefined) budgets.delete(stored);
      return;
    }
    const fullness = bannedUntil > now ? 0 : fullnessOf(remaining, sizeOf(limit));
    let budget = stored;
    if (budget === undefined || left) {
      budget = budgets.add({ page, key, fullness }, now);
      budget.bannedUntil = bannedUntil;
    } else budgets.refill(budget, fullness);
    budget.expiresAt = expiresAt;
    keep(algorithm, budget, state);
  }

  function save(slot: Slot, check: Check, now: number): void {
    const { algorithm, stored, state } = slot;
    const { limit } = check;
    const view = algorithm.view({ limit, now, cost: 1, state });
    const { remaining } = algorithm.describe({ limit, now, cost: 1, view });
    write(slot, check, { remaining, now, left: stored !== undefined && !budgets.has(stored) });
  }

  const bannedUntil = ({ stored }: Slot, now: number): number | undefined =>
    stored !== undefined && stored.bannedUntil > now ? stored.bannedUntil : undefined;

  function take({ limit, cost, least, aheadUs, countRefused, holder }: Check, state: unknown, now: number): Step<unknown> {
    return algorithmOf(limit.kind).take({ state, limit, now, cost, least, aheadUs, countRefused, holder });
  }

  /** The same as `decideSeveral`, for the check that comes alone: most do. */
  function decideOne(check: Check, dry: boolean, now: number): LoneOutcome {
    const { limit, cost } = check;
    const slot = open(check, now);
    const banned = bannedUntil(slot, now);
    const step = banned === undefined ? take(check, slot.base, now) : undefined;
    const allowed = step?.allowed === true;
    if (step !== undefined && !dry) slot.state = step.state;
    const view = slot.algorithm.view({ state: slot.state, limit, now, cost });
    const taken = dry ? 0 : (step?.taken ?? 0);
    const outcome = outcomeOf({ check, cost, now, view, allowed, taken, bannedUntil: banned });
    const writes = slot.state !== slot.base || (!dry && banned === undefined && overreaches(slot, check, now));
    // Nothing was added since it was read, so it has not left.
    if (writes) write(slot, check, { remaining: outcome.remaining, now, left: false });
    return { ...outcome, now, source: 'store', degraded: false };
  }

  /** The way of most checks: a known key, a plain check, and it passes. */
  function passNow(check: Check, now: number): LoneOutcome | undefined {
    const { rule, key, limit } = check;
    const stored = budgets.page(rule, limit.kind).get(key);
    if (stored === undefined || !stored.counted || stored.bannedUntil > now || !isPlain(check)) return undefined;
    const outcome = algorithmOf(limit.kind).pass?.(stored, check, now);
    if (outcome !== undefined) {
      stored.expiresAt = now + outcome.resetAfterUs;
      budgets.refill(stored, fullnessOf(outcome.remaining, sizeOf(limit)));
    }
    return outcome;
  }

  function checkNow(check: Check, dry: boolean): LoneOutcome {
    assertOpen();
    const now = clock.nowUs();
    return (dry ? undefined : passNow(check, now)) ?? decideOne(check, dry, now);
  }

  function decideNow(group: Group): GroupOutcome {
    assertOpen();
    const { checks, dry = false } = group;
    const [check] = checks;
    return check !== undefined && checks.length === 1 ? groupOf(checkNow(check, dry), check) : decideSeveral(group, clock.nowUs());
  }

  function decideSeveral(group: Group, now: number): GroupOutcome {
    const { checks, dry = false } = group;
    const slots: Slot[] = [];
    for (const check of checks) {
      const slot = open(check, now);
      slots.push(slots.find(({ page, key }) => page === slot.page && key === slot.key) ?? slot);
    }
    const banned = slots.map((slot) => bannedUntil(slot, now));
    const takeFor = (check: Check, index: number): { allowed: boolean; taken: number } => {
      const slot = slots[index];
      if (slot === undefined || banned[index] !== undefined) return { allowed: false, taken: 0 };
      const step = take(check, slot.state, now);
      slot.state = step.state;
      return step;
    };
    const steps = checks.map(takeFor);
    const allowed = passes(
      group,
      steps.map((step) => step.allowed),
    );
    if (!allowed || dry) {
      for (const slot of slots) slot.state = slot.base;
      if (!dry) for (const [index, check] of checks.entries()) if (check.countRefused) takeFor(check, index);
    }
    checks.forEach((check, index) => {
      const slot = slots[index];
      if (slot !== undefined && (slot.state !== slot.base || (!dry && banned[index] === undefined && overreaches(slot, check, now))))
        save(slot, check, now);
    });
    const costs = costsTogether(group, ({ rule, key, limit }) => `${rule}\n${limit.kind}\n${key}`);
    const outcomes = checks.map((check, index) => {
      const { limit } = check;
      const cost = costs[index] ?? check.cost;
      return outcomeOf({
        check,
        cost,
        now,
        view: algorithmOf(limit.kind).view({ state: slots[index]?.state, limit, now, cost }),
        allowed: steps[index]?.allowed === true,
        taken: allowed && !dry ? (steps[index]?.taken ?? 0) : 0,
        bannedUntil: banned[index],
      });
    });
    return { now, allowed, outcomes, source: 'store', degraded: false };
  }

  function adjust(check: Check, change: (state: unknown) => unknown): void {
    const now = clock.nowUs();
    const slot = open(check, now);
    slot.state = change(slot.base);
    save(slot, check, now);
  }

  /** True once for each id, for as long as it matters; false if there is no room to remember it. */
  function redeem(id: string, until: number, now: number): boolean {
    const page = redeemed.page('', '');
    const known = page.get(id);
    if (known !== undefined && known.expiresAt > now) return false;
    if (until <= now || !redeemed.hasRoom(now)) return false;
    redeemed.add({ page, key: id, fullness: 0 }, now).expiresAt = until;
    return true;
  }

  function giveBackNow({ receipt, units, onceId, forget, downTo }: GiveBack): number {
    assertOpen();
    const now = clock.nowUs();
    const stored = budgets.page(receipt.rule, receipt.limit.kind).get(receipt.key);
    if (stored === undefined || !stored.counted || stored.expiresAt <= now) return 0;
    const algorithm = algorithmOf(receipt.limit.kind);
    const { state, returned } = algorithm.giveBack({ stored: stateOf(algorithm, stored), receipt, now, units, forget, downTo });
    if (returned === 0 || (onceId !== undefined && !redeem(onceId, returnableUntil(receipt), now))) return 0;
    // Perhaps no longer closed; the next check finds out how full it is.
    keep(algorithm, stored, state);
    const isFull = algorithm.expiresAt(state, receipt.limit, now) <= now;
    if (isFull && stored.bannedUntil <= now) {
      budgets.delete(stored);
      return returned;
    }
    if (isFull) stored.expiresAt = stored.bannedUntil;
    budgets.refill(stored, Math.max(1, stored.fullness));
    return returned;
  }

  function extendNow(receipt: Receipt): boolean {
    assertOpen();
    const { limit, holder } = receipt;
    const now = clock.nowUs();
    const stored = budgets.page(receipt.rule, limit.kind).get(receipt.key);
    if (limit.kind !== 'concurrency' || holder === undefined || stored === undefined || !stored.counted) return false;
    const current = algorithmOf('concurrency').current(stored.state, limit, now) as ConcurrencyState;
    const state = prolong(current, holder, now + limit.expiresUs);
    if (state === undefined) return false;
    stored.state = state;
    stored.expiresAt = Math.max(stored.expiresAt, now + limit.expiresUs);
    return true;
  }

  function setBan({ rule, key, kinds }: Target, bannedUntil: number, now: number): void {
    for (const kind of kinds) {
      const page = budgets.page(rule, kind);
      let stored = page.get(key);
      if (stored === undefined && bannedUntil === 0) continue;
      if (stored === undefined && !budgets.hasRoom(now))
        throw new StoreError(`the memory store is full of closed budgets (maxKeys ${maxKeys})`);
      stored ??= budgets.add({ page, key, fullness: 0 }, now);
      stored.counted &&= stored.expiresAt > now;
      stored.expiresAt = Math.max(bannedUntil, stored.counted ? stored.expiresAt : 0);
      stored.bannedUntil = bannedUntil;
      budgets.refill(stored, 0);
    }
  }

  return {
    local: true,
    checkNow,
    decideNow,
    adjust,
    decide: async (group) => decideNow(group),
    giveBack: async (item) => giveBackNow(item),
    async claim(receipt, onceId) {
      assertOpen();
      return redeem(onceId, returnableUntil(receipt), clock.nowUs());
    },
    extend: async (receipt) => extendNow(receipt),
    async reset({ rule, key, kinds }) {
      assertOpen();
      for (const kind of kinds) {
        const stored = budgets.page(rule, kind).get(key);
        if (stored === undefined) continue;
        if (stored.bannedUntil > clock.nowUs()) stored.counted = false;
        else budgets.delete(stored);
      }
    },
    async ban(target, us) {
      assertOpen();
      const now = clock.nowUs();
      setBan(target, now + us, now);
    },
    async unban(target) {
      assertOpen();
      setBan(target, 0, clock.nowUs());
    },
    async ping() {
      assertOpen();
    },
    async close() {
      closed = true;
    },
    tidy() {
      if (budgets.size > 0) budgets.sweep(clock.nowUs());
      if (redeemed.size > 0) redeemed.sweep(clock.nowUs());
    },
    stats: () => ({ keys: budgets.size, dropped: budgets.dropped, shared }),
  };
}
