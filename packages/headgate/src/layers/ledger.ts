import { algorithmOf } from '../algorithms/index.js';
import type { Clock } from '../clock.js';
import { StoreError } from '../errors.js';
import { sizeOf, type CountedLimit } from '../limit.js';
import type { Check, GroupOutcome, Receipt, Store, Target, Ticket } from '../stores/store.js';

/** Budgets that may be owed for at once; the bound of what a long outage holds in memory. */
const mostEntries = 100_000;
/** Charges on their way at once, so that they do not hold up the checks of a store that has just come back. */
const chargesAtOnce = 64;

/** What one budget owes the shared store: units let through here that it does not know of. */
interface Entry {
  readonly check: Check;
  /** What is counted against, which caps what is charged: this process's share, or the whole limit of a rule that allows. */
  basis: CountedLimit;
  /** As the algorithm has it; absent if nothing is owed. */
  state: unknown;
  charging: Promise<boolean> | undefined;
}

export interface LedgerOptions {
  readonly store: Pick<Store, 'decide'>;
  /** The store's clock, as this process believes it to be. */
  readonly clock: Pick<Clock, 'nowUs'>;
  /** Whether the server of this check's key is not asked at present. */
  readonly isAway: (check: Check) => boolean;
  /** The store's answer to a charge. */
  readonly onAnswer: (check: Check, answer: GroupOutcome) => void;
}

function* take<T>(items: Iterable<T>, count: number): Iterable<T> {
  let left = count;
  for (const item of items) {
    if (left-- <= 0) return;
    yield item;
  }
}

const pageOf = (rule: string, kind: CountedLimit['kind'], key: string): string => `${rule}\n${kind}\n${key}`;
const idOf = ({ rule, key, limit }: Check): string => pageOf(rule, limit.kind, key);

/**
 * What was let through without the shared store, by budget, kept by the same algorithms: a window that ends owes nothing any
 * more, and a bucket only what has not flowed back.
 */
export class Ledger {
  readonly #options: LedgerOptions;
  readonly #entries = new Map<string, Entry>();
  #draining = false;
  /** Units that could not be kept in mind, as the ledger was full. */
  lost = 0;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Opens a budget's page; true if it was not open yet. */
  open(check: Check, basis: CountedLimit): boolean {
    const id = idOf(check);
    if (this.#entries.has(id) || this.#entries.size >= mostEntries) return false;
    const { rule, key, limit, whenUnavailable = 'local' } = check;
    this.#entries.set(id, { check: { rule, key, limit, cost: 1, whenUnavailable }, basis, state: undefined, charging: undefined });
    return true;
  }

  /** Units of this check passed, and the store does not know. */
  owe(check: Check, basis: CountedLimit, units: number): void {
    this.open(check, basis);
    const entry = this.#entries.get(idOf(check));
    if (entry === undefined) {
      this.lost += units;
      return;
    }
    if (sizeOf(basis) > sizeOf(entry.basis)) entry.basis = basis;
    this.#add(entry, units);
  }

  /** Units that passed here came back before they were charged. */
  forgive({ rule, key, limit }: Receipt, units: number): void {
    const entry = this.#entries.get(pageOf(rule, limit.kind, key));
    if (entry?.state === undefined) return;
    const owed = this.#owedBy(entry) - Math.floor(units);
    entry.state = undefined;
    if (owed > 0) this.#add(entry, owed);
  }

  forget({ rule, key, kinds }: Target): void {
    for (const kind of kinds) this.#entries.delete(pageOf(rule, kind, key));
  }

  /** Charges what these checks' budgets owe; false if the store does not know of it yet: then it must not decide on them. */
  async settle(checks: readonly Check[]): Promise<boolean> {
    const entries = checks.flatMap((check) => this.#entries.get(idOf(check)) ?? []).filter(({ state, charging }) => state ?? charging);
    if (entries.length === 0) return true;
    const charged = await Promise.all(entries.map((entry) => this.#charge(entry)));
    return charged.every(Boolean);
  }

  /**
   * Charges everything, a few at a time, until a charge fails; pages on which nothing is owed are closed. To be called when the store
   * has just answered.
   */
  async drain(): Promise<void> {
    if (this.#draining) return;
    this.#draining = true;
    for (let going = true; going && this.#entries.size > 0;) {
      const some: Entry[] = [];
      let away = 0;
      for (const [id, entry] of [...take(this.#entries, chargesAtOnce)]) {
        if (this.#options.isAway(entry.check)) {
          // Behind the others, which it must not hold up.
          this.#entries.delete(id);
          this.#entries.set(id, entry);
          away += 1;
        } else some.push(entry);
      }
      const charged = await Promise.all(some.map((entry) => this.#charge(entry)));
      going = away === 0 && charged.every(Boolean);
    }
    this.#draining = false;
  }

  #add(entry: Entry, units: number): void {
    const { basis } = entry;
    const algorithm = algorithmOf(basis.kind);
    const now = this.#options.clock.nowUs();
    entry.state = algorithm.take({ state: algorithm.current(entry.state, basis, now), limit: basis, now, cost: units, least: 0 }).state;
  }

  #owedBy({ basis, state }: Entry): number {
    if (state === undefined) return 0;
    const algorithm = algorithmOf(basis.kind);
    const look = { limit: basis, now: this.#options.clock.nowUs(), cost: 1 };
    const current = algorithm.current(state, basis, look.now);
    const { remaining, failures } = algorithm.describe({ ...look, view: algorithm.view({ ...look, state: current }) });
    return failures === undefined ? sizeOf(basis) - remaining : Math.min(sizeOf(basis), failures);
  }

  #charge(entry: Entry): Promise<boolean> {
    entry.charging ??= this.#send(entry).finally(() => {
      entry.charging = undefined;
    });
    return entry.charging;
  }

  async #send(entry: Entry): Promise<boolean> {
    const units = this.#owedBy(entry);
    const { state } = entry;
    entry.state = undefined;
    const ticket: Ticket = { cancelled: false, sent: false };
    let charged = true;
    try {
      if (units > 0) {
        const check = { ...entry.check, cost: units, least: 0 };
        this.#options.onAnswer(check, await this.#options.store.decide({ checks: [check] }, ticket));
      }
    } catch (error) {
      charged = false;
      // Sent and not answered, it may have been charged: never twice. A value of somebody else's is never charged at all.
      const unchargeable = ticket.sent || (error instanceof StoreError && error.code === 'HEADGATE_FOREIGN_VALUE');
      if (!unchargeable && entry.state === undefined) entry.state = state;
      else if (!unchargeable) this.#add(entry, this.#owedBy({ ...entry, state }));
    }
    // Unless more came to be owed meanwhile.
    if (entry.state === undefined && this.#entries.get(idOf(entry.check)) === entry) this.#entries.delete(idOf(entry.check));
    return charged;
  }
}
