/** Who writes, for the audit: 1 to 200 characters. */
export interface By {
  readonly by: string;
}

interface Ending {
  /** Milliseconds since 1970; null: no end. What has ended is not answered any more, and removed by and by. */
  readonly until: number | null;
}

interface Noted extends By {
  /** When it was written, in milliseconds since 1970. */
  readonly at: number;
}

/** What a customer pays for. */
export interface CustomerPlan extends Ending, Noted {
  /** The customer's key, as a rule finds it in a request. */
  readonly customer: string;
  readonly plan: string;
}

/** Another limit of a rule for one customer; it goes before that of the plan. */
export interface Override extends Ending, Noted {
  readonly rule: string;
  readonly customer: string;
  /** As a rules file says it: `{ fixedWindow: { limit: 1000, window: '1m' } }`. */
  readonly limit: unknown;
}

/** For whom a rule does not hold. */
export interface Exemption extends Ending, Noted {
  /** A rule's name, or `*` for all. */
  readonly rule: string;
  readonly kind: 'key' | 'cidr';
  /** A key, or addresses as `10.0.0.0/8`. */
  readonly subject: string;
  readonly reason: string;
}

/** Whether a rule only observes, whatever the rule itself says. */
export interface Shadow extends Noted {
  /** A rule's name, or `*` for all that have no switch of their own. */
  readonly rule: string;
  readonly on: boolean;
}

/** What is written: without when, and with an end only if there is one. */
type Setting<T extends Noted> = Omit<T, 'at' | 'until'> & { readonly until?: number | null };

export interface Page {
  /** 1 to 1000. */
  readonly limit: number;
}

/**
 * Customers' plans: at most 100,000, as each server has them in memory. Plans are not checked against those of the rules, which may come later.
 *
 * @throws InputError, DatabaseError, from all that writes; then nothing was written
 */
export interface PlansRepository {
  of(customer: string): Promise<CustomerPlan | undefined>;
  /** In the order of customers, from the one after `after` on. */
  list(page: Page & { readonly after?: string }): Promise<CustomerPlan[]>;
  set(plan: Setting<CustomerPlan>): Promise<void>;
  /** Answers whether there was one. */
  remove(which: By & Pick<CustomerPlan, 'customer'>): Promise<boolean>;
}

/**
 * Overrides: at most 100,000. One of a rule that is not there has no effect until it is.
 *
 * @throws InputError, DatabaseError; RulesError if this is no limit, or the rule cannot have it; then nothing was written
 */
export interface OverridesRepository {
  /** In the order of rules and customers, from the one after `after` on. */
  list(
    page: Page & { readonly after?: Pick<Override, 'rule' | 'customer'>; readonly rule?: string; readonly customer?: string },
  ): Promise<Override[]>;
  set(override: Setting<Override>): Promise<void>;
  /** Answers whether there was one. */
  remove(which: By & Pick<Override, 'rule' | 'customer'>): Promise<boolean>;
}

/**
 * Exemptions: at most 10,000, as those with addresses are looked through one by one.
 *
 * @throws InputError, DatabaseError; then nothing was written
 */
export interface ExemptionsRepository {
  /** In the order of rules, kinds and subjects, from the one after `after` on. */
  list(page: Page & { readonly after?: Pick<Exemption, 'rule' | 'kind' | 'subject'> }): Promise<Exemption[]>;
  set(exemption: Setting<Exemption>): Promise<void>;
  /** Answers whether there was one. */
  remove(which: By & Pick<Exemption, 'rule' | 'kind' | 'subject'>): Promise<boolean>;
}

/** @throws InputError, DatabaseError; then nothing was written */
export interface ShadowsRepository {
  /** All, in the order of rules. */
  list(): Promise<Shadow[]>;
  set(shadow: Setting<Shadow>): Promise<void>;
  /** Leaves it to the rule itself again. Answers whether there was a switch. */
  remove(which: By & Pick<Shadow, 'rule'>): Promise<boolean>;
}

/** All that differs from the rules, as each server has it in memory. */
export interface Exceptions {
  readonly plans: readonly CustomerPlan[];
  readonly overrides: readonly Override[];
  readonly exemptions: readonly Exemption[];
  readonly shadows: readonly Shadow[];
}

/** What a copy of all of it is kept by. */
export interface ExceptionsReader {
  /** A text that changes with every write to any of them. */
  edition(): Promise<string>;
  all(): Promise<Exceptions>;
}
