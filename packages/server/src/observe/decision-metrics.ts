import type { Decision, Source } from 'headgate';
import { Counter, type Registry } from 'prom-client';
import { ruleLabels } from './rule-labels.js';

/** Values of the label `rule`; further rules share one. With three outcomes and five sources, no more than 16 series each. */
const mostRules = 1000;

const outcomes = ['allowed', 'refused', 'shadow_refused'] as const;
export type Outcome = (typeof outcomes)[number];
const sources: readonly Source[] = ['store', 'lease', 'sync', 'note', 'fallback'];
/** The place of near-limit decisions, behind those of outcomes and sources. */
const near = outcomes.length * sources.length;

export const outcomeOf = ({ wouldAllow, allowed }: Pick<Decision, 'wouldAllow' | 'allowed'>): Outcome =>
  wouldAllow ? 'allowed' : allowed ? 'shadow_refused' : 'refused';

/** Whether a check passed that used the last fifth of its budget. */
const isNear = ({ wouldAllow, degraded, limit, remaining }: Decision): boolean => wouldAllow && !degraded && remaining * 5 <= limit;

/**
 * Decisions by rule, outcome and source. Counted in numbers of our own, as finding a series by its labels costs as much as deciding; the
 * registry takes them over when it is read.
 */
export function decisionMetrics(registry: Registry): (decisions: readonly Decision[]) => void {
  const labelOf = ruleLabels(mostRules);
  const rules = new Map<string, Float64Array>();
  let alone = 0;

  new Counter({
    name: 'headgate_decisions_total',
    help: 'Decisions by rule, outcome (allowed, refused, shadow_refused) and source (store, lease, sync, note, fallback).',
    labelNames: ['rule', 'outcome', 'source'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const [rule, counts] of rules) {
        for (const [row, outcome] of outcomes.entries()) {
          for (const [column, source] of sources.entries()) {
            const count = counts[row * sources.length + column] ?? 0;
            if (count > 0) this.inc({ rule, outcome, source }, count);
          }
        }
      }
    },
  });
  new Counter({
    name: 'headgate_near_limit_total',
    help: 'Checks that passed with at least 80 % of their budget used, by rule.',
    labelNames: ['rule'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const [rule, counts] of rules) this.inc({ rule }, counts[near] ?? 0);
    },
  });
  new Counter({
    name: 'headgate_degraded_total',
    help: 'Decisions made without the shared store.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(alone);
    },
  });

  function countsOf(rule: string): Float64Array {
    const label = labelOf(rule);
    let counts = rules.get(label);
    if (counts === undefined) {
      counts = new Float64Array(near + 1);
      rules.set(label, counts);
    }
    return counts;
  }

  return (decisions) => {
    for (const decision of decisions) {
      const counts = countsOf(decision.rule);
      const at = outcomes.indexOf(outcomeOf(decision)) * sources.length + sources.indexOf(decision.source);
      counts[at] = (counts[at] ?? 0) + 1;
      if (isNear(decision)) counts[near] = (counts[near] ?? 0) + 1;
      if (decision.degraded) alone += 1;
    }
  };
}
