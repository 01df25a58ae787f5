import { algorithmOf } from '../algorithms/index.js';
import { prolong, type ConcurrencyState } from '../algorithms/concurrency.js';
import { systemClock, type Clock } from '../clock.js';
import { ConfigError, rejectUnknownOptions, show, StoreError } from '../errors.js';
import { sizeOf, type CountedLimit } from '../limit.js';
import { Budgets, fullnessOf, type Budget } from './budgets.js';
import { costsTogether, outcomeOf, passes, returnableUntil } from './outcome.js';
import type { Check, GiveBack, Group, GroupOutcome, Receipt, Store, Target } from './store.js';

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
  readonly id: string;
  readonly stored: Budget | undefined;
  readonly base: unknown;
  state: unknown;
}

const budgetId = (rule: string, key: string, kind: CountedLimit['kind']): string => `${rule}\n${kind}\n${key}`;
const idOf = (check: Check): string => budgetId(check.rule, check.key, check.limit.kind);

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

/** `memoryStore`, and the same decision at once. */
export function createMemoryStore(options: MemoryStoreOptions): MemoryStore & { decideNow(group: Group): GroupOutcome } {
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
    const algorithm = algorithmOf(check.limit.kind);
    const load = (id: string): Slot => {
      const stored = budgets.get(id);
      const base = algorithm.current(stored?.state, check.limit, now);
      return { id, stored, base, state: base };
    };
    const own = load(idOf(check));
    if (own.stored !== undefined || budgets.hasRoom(now)) return own;
    shared += 1;
    return load(budgetId(check.rule, '', check.limit.kind));
  }

  const overreaches = ({ stored }: Slot, { limit }: Check, now: number): boolean =>
    stored?.state !== undefined && algorithmOf(limit.kind).overreaches(stored.state, limit, now);

  function save(slot: Slot, check: Check, now: number): void {
    const algorithm = algorithmOf(check.limit.kind);
    const bannedUntil = slot.stored?.bannedUntil ?? 0;
    const expiresAt = Math.max(algorithm.expiresAt(slot.state, check.limit, now), bannedUntil);
    if (expiresAt <= now) return budgets.delete(slot.id);
    const look = { limit: check.limit, now, cost: 1 };
    const { remaining } = algorithm.describe({ ...look, view: algorithm.view({ ...look, state: slot.state }) });
    const fullness = bannedUntil > now ? 0 : fullnessOf(remaining, sizeOf(check.limit));
    budgets.set(slot.id, { state: slot.state, bannedUntil, expiresAt, fullness }, now);
  }

  function decideNow(group: Group): GroupOutcome {
    assertOpen();
    const now = clock.nowUs();
    const { checks, dry = false } = group;
    const byId = new Map<string, Slot>();
    const slots = checks.map((check) => {
      const slot = open(check, now);
      const known = byId.get(slot.id);
      if (known !== undefined) return known;
      byId.set(slot.id, slot);
      return slot;
    });
    const banned = slots.map(({ stored }) => (stored !== undefined && stored.bannedUntil > now ? stored.bannedUntil : undefined));
    const take = (check: Check, index: number): { allowed: boolean; taken: number } => {
      const slot = slots[index];
      if (slot === undefined || banned[index] !== undefined) return { allowed: false, taken: 0 };
      const step = algorithmOf(check.limit.kind).take({ ...check, state: slot.state, now });
      slot.state = step.state;
      return step;
    };
    const steps = checks.map(take);
    const allowed = passes(
      group,
      steps.map((step) => step.allowed),
    );
    if (!allowed || dry) {
      for (const slot of slots) slot.state = slot.base;
      if (!dry) for (const [index, check] of checks.entries()) if (check.countRefused) take(check, index);
    }
    checks.forEach((check, index) => {
      const slot = slots[index];
      if (slot !== undefined && (slot.state !== slot.base || (!dry && banned[index] === undefined && overreaches(slot, check, now))))
        save(slot, check, now);
    });
    const costs = costsTogether(group, idOf);
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

  /** True once for each id, for as long as it matters; false if there is no room to remember it. */
  function redeem(id: string, until: number, now: number): boolean {
    const known = redeemed.get(id);
    if (known !== undefined && known.expiresAt > now) return false;
    if (until <= now || !redeemed.hasRoom(now)) return false;
    redeemed.set(id, { state: undefined, bannedUntil: 0, expiresAt: until, fullness: 0 }, now);
    return true;
  }

  function giveBackNow({ receipt, units, onceId }: GiveBack): number {
    assertOpen();
    const now = clock.nowUs();
    const id = budgetId(receipt.rule, receipt.key, receipt.limit.kind);
    const stored = budgets.get(id);
    if (stored?.state === undefined || stored.expiresAt <= now) return 0;
    const { state, returned } = algorithmOf(receipt.limit.kind).giveBack({ stored: stored.state, receipt, now, units });
    if (returned === 0 || (onceId !== undefined && !redeem(onceId, returnableUntil(receipt), now))) return 0;
    // Perhaps no longer closed; the next check finds out how full it is.
    budgets.set(id, { ...stored, state, fullness: Math.max(1, stored.fullness) }, now);
    return returned;
  }

  function extendNow(receipt: Receipt): boolean {
    assertOpen();
    const { limit, holder } = receipt;
    const now = clock.nowUs();
    const id = budgetId(receipt.rule, receipt.key, limit.kind);
    const stored = budgets.get(id);
    if (limit.kind !== 'concurrency' || holder === undefined || stored?.state === undefined) return false;
    const current = algorithmOf('concurrency').current(stored.state, limit, now) as ConcurrencyState;
    const state = prolong(current, holder, now + limit.expiresUs);
    if (state === undefined) return false;
    stored.state = state;
    stored.expiresAt = Math.max(stored.expiresAt, now + limit.expiresUs);
    return true;
  }

  function setBan({ rule, key, kinds }: Target, bannedUntil: number, now: number): void {
    for (const kind of kinds) {
      const id = budgetId(rule, key, kind);
      const stored = budgets.get(id);
      if (stored === undefined && bannedUntil === 0) continue;
      if (stored === undefined && !budgets.hasRoom(now))
        throw new StoreError(`the memory store is full of closed budgets (maxKeys ${maxKeys})`);
      const live = stored !== undefined && stored.state !== undefined && stored.expiresAt > now;
      const expiresAt = Math.max(bannedUntil, live ? stored.expiresAt : 0);
      budgets.set(id, { state: live ? stored.state : undefined, bannedUntil, expiresAt, fullness: 0 }, now);
    }
  }

  return {
    local: true,
    decideNow,
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
        const stored = budgets.get(budgetId(rule, key, kind));
        if (stored === undefined) continue;
        if (stored.bannedUntil > clock.nowUs()) stored.state = undefined;
        else budgets.delete(budgetId(rule, key, kind));
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
    stats: () => ({ keys: budgets.size, dropped: budgets.dropped, shared }),
  };
}
