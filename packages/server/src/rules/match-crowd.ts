import type { ServiceRule } from './compile-rule.js';
import type { Fault, Places } from './faults.js';
import { compileMatch } from './match.js';
import type { Sliced } from './slices.js';

/** Rules that are decided together, at most: what one library call takes. */
export const mostTogether = 64;

/** How to mend rules of which too many match the same request. */
export const crowdMend = 'have fewer rules match the same request: narrow what they match, or give one rule several plans';

const everything = compileMatch({}).id;

/**
 * Where more rules match the same requests than are decided together, for certain: they say the same of what they match, or match everything. Rules
 * that are skipped without their key may be so many. What else meets in one request, only that request shows.
 */
export function* crowdFaults(rules: readonly ServiceRule[], places: Places): Sliced<Fault[]> {
  const crowds = new Map<string, number[]>();
  for (const [index, { match, missingKey }] of rules.entries()) {
    if (index % 256 === 0) yield;
    if (match === undefined || missingKey === 'skip') continue;
    const crowd = crowds.get(match.id) ?? [];
    crowds.set(match.id, crowd);
    crowd.push(index);
  }
  const always = crowds.get(everything) ?? [];
  const tooLarge =
    always.length > mostTogether
      ? [always]
      : [...crowds.values()].filter((crowd) => crowd !== always && always.length + crowd.length > mostTogether);
  return tooLarge.map((own) => {
    const crowd = own === always ? always : [...always, ...own].sort((a, b) => a - b);
    const message = `match: it is one of ${crowd.length} rules that match the same requests; at most ${mostTogether} are decided together: ${crowdMend}`;
    return places.fault(['rules', crowd[mostTogether] ?? 0, 'match'], message);
  });
}
