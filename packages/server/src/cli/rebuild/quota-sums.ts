import type { Taken } from './access-log.js';

/** The period in force of a customer's quota. */
export interface Period {
  readonly rule: string;
  /** Milliseconds since 1970; `until` is no longer in it. */
  readonly since: number;
  readonly until: number;
}

interface Customer {
  /** Of the last line. */
  plan: string | undefined;
  /** The periods that hold, by the plans of its lines; nearly always one. */
  readonly known: { readonly plan: string | undefined; readonly periods: readonly Period[] }[];
  readonly used: Map<string, number>;
}

/** More used than any counter holds. */
const mostUnits = 9_000_000_000;

/** What a customer has used of a quota by the log. */
export interface Sum {
  readonly key: string;
  readonly plan: string | undefined;
  readonly period: Period;
  readonly used: number;
}

export interface Sums {
  readonly keys: number;
  /** Whether the periods of a line's customer are known. */
  knows(line: Pick<Taken, 'key' | 'plan'>): boolean;
  learn(of: Pick<Taken, 'key' | 'plan'>, periods: readonly Period[]): void;
  /** Answers what became of it: `other` if its rule is no quota of this customer. */
  add(rule: string, line: Taken): 'counted' | 'outside' | 'other';
  all(): Iterable<Sum>;
}

/** Sums of an access log: of each key and quota the units within the period in force. */
export function quotaSums(): Sums {
  const customers = new Map<string, Customer>();
  /** Most customers have the same periods: they are kept once. */
  const shared = new Map<string, readonly Period[]>();

  const periodsOf = (key: string, plan: string | undefined): readonly Period[] | undefined =>
    customers.get(key)?.known.find((one) => one.plan === plan)?.periods;

  return {
    get keys() {
      return customers.size;
    },
    knows: ({ key, plan }) => periodsOf(key, plan) !== undefined,
    learn({ key, plan }, periods) {
      const text = JSON.stringify(periods);
      const same = shared.get(text) ?? periods;
      shared.set(text, same);
      const customer = customers.get(key) ?? { plan, known: [], used: new Map<string, number>() };
      customer.known.push({ plan, periods: same });
      customers.set(key, customer);
    },
    add(rule, { key, plan, time, cost }) {
      const period = periodsOf(key, plan)?.find((one) => one.rule === rule);
      const customer = customers.get(key);
      if (period === undefined || customer === undefined) return 'other';
      customer.plan = plan;
      if (time < period.since || time >= period.until) return 'outside';
      customer.used.set(rule, Math.min(mostUnits, (customer.used.get(rule) ?? 0) + cost));
      return 'counted';
    },
    *all() {
      for (const [key, { plan, known, used }] of customers) {
        for (const [rule, units] of used) {
          // Under the plan of its last line it may be no quota any more: then that of the line that was counted tells.
          const period = [periodsOf(key, plan) ?? [], ...known.map(({ periods }) => periods)].flat().find((one) => one.rule === rule);
          if (period !== undefined) yield { key, plan, period, used: units };
        }
      }
    },
  };
}
