import { Decided } from './decided.js';
import type { GroupDecision } from './decision.js';
import { inputError, show, type InputError } from './errors.js';
import type { Limit, LimitKind } from './limit.js';
import type { AttemptResult, PortableReceipt, Settlement, Taken } from './limiter-types.js';
import type { Rule } from './rule.js';
import type { Receipt, Store } from './stores/store.js';

export interface GivingBackOptions {
  readonly store: Store;
  /** A rule as it is in force now. */
  readonly ruleNow: (name: string) => Rule | undefined;
  /** Counts a give-back that the store did not carry out: the units stay taken. */
  readonly onLost: () => void;
}

/** The verbs that undo or correct a take. */
export interface GivingBack {
  refund(taken: Taken): Promise<number>;
  settle(taken: Taken, actual: number): Promise<Settlement>;
  release(taken: Taken): Promise<boolean>;
  extend(taken: Taken): Promise<boolean>;
  outcome(taken: Taken, result: AttemptResult): Promise<boolean>;
  receipt(decision: unknown): PortableReceipt | undefined;
}

/** The limits that each verb has a use for: with the wrong one it throws, and spends nothing. */
const worksOn = { refund: 'any', settle: 'units', release: 'holders', extend: 'holders', outcome: 'attempts' } as const;
const suits = {
  any: () => true,
  units: (kind: LimitKind) => kind !== 'concurrency',
  holders: (kind: LimitKind) => kind === 'concurrency',
  // A plan without any limit is no mistake of who tells the outcome.
  attempts: (kind: LimitKind) => kind === 'consecutiveFailures' || kind === 'unlimited',
};
const mends = {
  any: '',
  units: 'limits concurrency; end a holder with release()',
  holders: 'does not limit concurrency; there is no holder. Units are given back with refund()',
  attempts: 'does not count consecutive failures; there is no outcome to tell. Units are given back with refund()',
};

const unfit = (verb: keyof typeof worksOn, rule: string): InputError =>
  inputError('HEADGATE_BAD_CALL', `${verb}: rule ${show(rule)} ${mends[worksOn[verb]]}`);

const nothing: Settlement = Object.freeze({ returned: 0, charged: 0 });

function isPortable(value: unknown): value is PortableReceipt {
  if (typeof value !== 'object' || value === null) return false;
  const { onceId, rule, key, limit, taken, takenAt } = value as Partial<PortableReceipt>;
  const texts = [onceId, rule, key, (limit as Partial<Limit> | undefined)?.kind];
  return texts.every((text) => typeof text === 'string') && [taken, takenAt].every((number) => typeof number === 'number');
}

function isGroup(value: unknown): value is GroupDecision {
  return typeof value === 'object' && value !== null && Array.isArray((value as GroupDecision).decisions);
}

const onceIdOf = (receipt: Receipt | PortableReceipt): string | undefined => ('onceId' in receipt ? receipt.onceId : undefined);

/** Makes the giving-back verbs. Each counts once: in this process by the decision itself, over processes by the receipt's id. */
export function givingBack({ store, ruleNow, onLost }: GivingBackOptions): GivingBack {
  function limitNow({ rule: name, plan }: Receipt): Limit | undefined {
    const rule = ruleNow(name);
    return (plan === undefined ? undefined : rule?.plans.get(plan)) ?? rule?.limit;
  }

  /**
   * A bucket's units flow back at the refill in force, which may have been raised since: the faster of both, as too little
   * may be returned, never too much.
   */
  function inForce(receipt: Receipt): Receipt {
    const now = limitNow(receipt);
    const then = receipt.limit;
    if (now?.kind !== 'tokenBucket' || then.kind !== 'tokenBucket') return receipt;
    return now.creditUnits / now.creditUs > then.creditUnits / then.creditUs ? { ...receipt, limit: now } : receipt;
  }

  /** What there is to give back; undefined if nothing was taken. Given back by a verb that is not `extend`, it is spent. */
  function claimHere(verb: keyof typeof worksOn, taken: Taken): Receipt | PortableReceipt | undefined {
    const taking = Decided.takingOf(taken);
    if (taking === undefined && !isPortable(taken)) {
      throw inputError(
        'HEADGATE_BAD_CALL',
        `${verb}: expected a decision of this limiter, not a copy, or its receipt(); got ${show(taken)}`,
      );
    }
    const receipt = taking === undefined ? (taken as PortableReceipt) : taking.receipt;
    if (receipt !== undefined && !suits[worksOn[verb]](receipt.limit.kind)) throw unfit(verb, receipt.rule);
    if (taking === undefined) return receipt;
    if (taking.spent) return undefined;
    if (verb !== 'extend') taking.spent = true;
    return receipt;
  }

  async function attempt<T>(call: Promise<T>, otherwise: T): Promise<T> {
    try {
      return await call;
    } catch {
      onLost();
      return otherwise;
    }
  }

  function giveBack(receipt: Receipt | PortableReceipt, units: number): Promise<number> {
    const onceId = onceIdOf(receipt);
    return attempt(store.giveBack({ receipt: inForce(receipt), units, ...(onceId === undefined ? undefined : { onceId }) }), 0);
  }

  async function charge(receipt: Receipt | PortableReceipt, units: number): Promise<number> {
    const onceId = onceIdOf(receipt);
    if (onceId !== undefined && !(await attempt(store.claim(receipt, onceId), false))) return 0;
    const { rule: name, key, limit: then } = receipt;
    const now = limitNow(receipt);
    const limit = now !== undefined && now.kind === then.kind ? now : then;
    const decided = await attempt(store.decide({ checks: [{ rule: name, key, limit, cost: units, least: 0 }] }), undefined);
    return decided?.outcomes[0]?.taken ?? 0;
  }

  async function refund(taken: Taken): Promise<number> {
    if (isGroup(taken)) {
      const returned = await Promise.all(taken.decisions.map((decision) => refund(decision)));
      return returned.reduce((sum, units) => sum + units, 0);
    }
    const receipt = claimHere('refund', taken);
    return receipt === undefined ? 0 : giveBack(receipt, receipt.taken);
  }

  /** Whether it is a decision that has no outcome to be told, also one that took nothing. */
  function hasNoOutcome(decision: unknown): boolean {
    const kind = Decided.kindOf(decision);
    return kind !== undefined && !suits.attempts(kind);
  }

  async function outcome(taken: Taken, result: AttemptResult): Promise<boolean> {
    if (result !== 'success' && result !== 'failure')
      throw inputError('HEADGATE_BAD_CALL', `outcome: expected "success" or "failure"; got ${show(result)}`);
    if (isGroup(taken)) {
      const attempts = taken.decisions.filter((part) => !hasNoOutcome(part));
      if (attempts.length === 0) throw unfit('outcome', taken.rule);
      const forgotten = await Promise.all(attempts.map((part) => outcome(part, result)));
      return forgotten.includes(true);
    }
    if (hasNoOutcome(taken)) throw unfit('outcome', taken.rule);
    const receipt = claimHere('outcome', taken);
    // It counts as failed since it began.
    if (receipt === undefined || result === 'failure') return false;
    return (await attempt(store.giveBack({ receipt, units: receipt.taken, forget: true }), 0)) > 0;
  }

  return {
    refund,
    outcome,

    async settle(taken, actual) {
      if (!Number.isInteger(actual) || actual < 0 || actual > 9e9) {
        throw inputError('HEADGATE_BAD_COST', `settle: the actual cost is a whole number from 0 to 9000000000; got ${show(actual)}`);
      }
      const receipt = claimHere('settle', taken);
      if (receipt === undefined) return nothing;
      if (actual < receipt.taken) return { returned: await giveBack(receipt, receipt.taken - actual), charged: 0 };
      return actual > receipt.taken ? { returned: 0, charged: await charge(receipt, actual - receipt.taken) } : nothing;
    },

    async release(taken) {
      const receipt = claimHere('release', taken);
      return receipt !== undefined && (await giveBack(receipt, receipt.taken)) > 0;
    },

    async extend(taken) {
      const receipt = claimHere('extend', taken);
      return receipt !== undefined && attempt(store.extend(receipt), false);
    },

    receipt(decision) {
      const taking = Decided.takingOf(decision);
      if (taking === undefined)
        throw inputError('HEADGATE_BAD_CALL', `receipt: expected a decision of this limiter, not a copy; got ${show(decision)}`);
      const { receipt } = taking;
      if (receipt === undefined || taking.spent) return undefined;
      const portable = 'onceId' in receipt ? receipt : { ...receipt, onceId: crypto.randomUUID() };
      taking.receipt = portable;
      return portable;
    },
  };
}
