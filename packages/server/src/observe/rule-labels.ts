/** Stands for the rules beyond a bound, all together. No rule can be called so: names are ASCII. */
export const otherRules = '…others';

/**
 * Turns rules into values of a label, of which there are at most `most` and {@link otherRules}. The first that come have one of their own,
 * as long as the process lives: a counter that went to another series would seem to begin anew.
 */
export function ruleLabels(most: number): (rule: string) => string {
  const known = new Set<string>();
  return (rule) => {
    if (known.has(rule)) return rule;
    if (known.size >= most) return otherRules;
    known.add(rule);
    return rule;
  };
}
