import type { CheckOptions, CheckRequest, Decision, Limit, Limiter } from 'headgate';
import type { Answered } from 'headgate/http';
import { limitInForce, type RuleSet } from '../rules/compile.js';
import type { Customer, Excepted } from '../rules/exceptional.js';
import type { Returned } from './quota-keeper.js';
import type { Receipts } from './receipts.js';

/** What every use case works on. The rules in force may change between requests, never within one. */
export interface Service {
  readonly current: () => InForce;
  readonly receipts: Receipts;
  /** Told of every decision: for metrics, events, checkpoints. */
  readonly observe: (made: readonly Made[]) => void;
  /** Told of units that came back; `Infinity`: all, as by a reset. */
  readonly returned: (of: Returned, units: number) => void;
  /** Told of a request that was not decided, as more `rules` match it than can be; `of` stands for the rules in force. */
  readonly crowded: (crowd: { readonly of: object; readonly rules: readonly string[] }) => void;
  /** Told of a quota that was set from outside, by a look at it afterwards. */
  readonly adjusted: (now: Made) => void;
  /** Told of a quota that a settle has charged more than was reserved, by a look at it afterwards. */
  readonly charged: (now: Made) => void;
  /** Does what may make a counter lower, `returned` or `adjusted` included: a check meanwhile is not taken for the first after a loss. */
  readonly whileLowering: <T>(of: Pick<Returned, 'rule' | 'key'>, work: () => Promise<T>) => Promise<T>;
}

/** A decision with the limit and plan it was made under. */
export interface Made {
  readonly decision: Decision;
  readonly limit: Limit;
  readonly plan: string | undefined;
}

/** A set of rules and the limiter that holds them. */
export interface InForce {
  readonly rules: RuleSet;
  readonly limiter: Limiter;
  /** The plan to decide under: what is stored of a customer may differ from what the request says. */
  readonly planOf: Excepted['planOf'];
  /** Whether the plan is what the request says, for everybody. */
  readonly isPlain: Excepted['isPlain'];
}

/** A decision with the limit it was made under, for the header fields. */
export function answered({ rules }: InForce, decision: Decision, plan: string | undefined): Answered & Made {
  const limit = limitInForce(rules, decision.rule, plan);
  if (limit === undefined) throw new Error('a decision of a rule that is not in force');
  return { decision, limit, plan };
}

/** What was decided together; `binding` is the one that counts, or says the same. */
export interface Together {
  readonly allowed: boolean;
  readonly binding: Decision;
  readonly decisions: readonly Decision[];
}

/** What a check asks for beside its rule and key; most ask for nothing. */
function optionsOf({ cost, plan }: CheckRequest): CheckOptions | undefined {
  if (cost === undefined && plan === undefined) return undefined;
  return { ...(cost === undefined ? undefined : { cost }), ...(plan === undefined ? undefined : { plan }) };
}

/** Decides checks as a group: all or nothing. One alone, as most are, needs none of what a group does. */
export async function decidedTogether({ limiter }: InForce, checks: readonly CheckRequest[]): Promise<Together> {
  const [only] = checks;
  if (only !== undefined && checks.length === 1) {
    const decision = await limiter.check(only.rule, only.key, optionsOf(only));
    return { allowed: decision.allowed, binding: decision, decisions: [decision] };
  }
  const group = await limiter.checkAll(checks);
  return { allowed: group.allowed, binding: group, decisions: group.decisions };
}

/** A check as it is asked of the library: under the plan that holds for its customer. */
export function planned({ planOf }: InForce, asked: CheckRequest, more?: Pick<Customer, 'names' | 'address'>): CheckRequest {
  const { rule, key, plan: told } = asked;
  const plan = planOf({ rule, key, plan: told, ...more });
  // Most stay as they are: taking them apart and putting them together again costs more than finding the plan.
  if (plan === told) return asked;
  const { plan: _, ...others } = asked;
  return plan === undefined ? others : { ...others, plan };
}
