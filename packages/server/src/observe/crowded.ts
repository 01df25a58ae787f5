import { crowdMend, mostTogether } from '../rules/match-crowd.js';
import type { Service } from '../usecases/service.js';
import type { Logger } from './logger.js';

/** Names in one line of the log. */
const mostNamed = 10;

/** Counts requests that too many rules match, and logs the first under each set of rules. */
export function crowdedLog(logger: Logger, count: () => void): Service['crowded'] {
  const told = new WeakSet();
  return ({ of, rules }) => {
    count();
    if (told.has(of)) return;
    told.add(of);
    const names = rules.slice(0, mostNamed).map((name) => JSON.stringify(name));
    const more = rules.length > mostNamed ? ` and ${rules.length - mostNamed} more` : '';
    logger.error(
      { event: 'too-many-rules', rules: rules.length },
      `a request is refused, and more may be: ${rules.length} rules match it, and at most ${mostTogether} are decided together; ${crowdMend}: ${names.join(', ')}${more}`,
    );
  };
}
