import type { Limiter } from 'headgate';
import type { Logger } from './observe/logger.js';
import type { Metrics } from './observe/metrics.js';
import type { Excepted } from './rules/exceptional.js';
import { showFault } from './rules/faults.js';
import type { Notice, RulesSource } from './rules/source.js';
import type { InForce } from './usecases/service.js';

export interface Keeping {
  readonly source: RulesSource;
  readonly limiter: Limiter;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Keeps what the source says in force, and tells of it. */
export function keepInForce({ source, limiter, metrics, logger }: Keeping): { readonly current: () => InForce; readonly stop: () => void } {
  let inForce: InForce = { ...source.rules, limiter };

  function accept({ rules, planOf, isPlain }: Excepted, { changed, faults, warnings }: Notice): void {
    inForce = { rules, planOf, isPlain, limiter: limiter.withRules(rules.options) };
    for (const fault of faults) logger.error(fault);
    for (const warning of warnings) logger.warn(warning);
    if (changed === 'exceptions') {
      metrics.exceptionsLoaded();
      logger.debug('plans, overrides, exemptions and switches in force');
    } else {
      metrics.rulesLoaded(rules.rules.size);
      logger.info({ rules: rules.rules.size }, 'rules in force');
    }
  }

  accept(source.rules, { changed: 'rules', ...source.rules });
  const stop = source.watch({
    onRules: accept,
    onFault(error) {
      metrics.rulesRefused();
      for (const fault of error.faults) logger.error(showFault(fault));
      logger.error('the rules were not changed');
    },
    onTrouble: (message) => logger.warn(message),
  });
  return { current: () => inForce, stop };
}
