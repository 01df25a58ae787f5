import { systemClock, type Limiter } from 'headgate';
import type { Config } from './config.js';
import type { Database } from './database/open.js';
import { crowdedLog } from './observe/crowded.js';
import type { Logger } from './observe/logger.js';
import type { Metrics } from './observe/metrics.js';
import type { Traffic } from './observe/traffic.js';
import { webhook, type Webhook } from './observe/webhook.js';
import { nearLimits } from './usecases/near-limit.js';
import { quotaKeeper, type Checkpoints, type QuotaKeeper } from './usecases/quota-keeper.js';
import type { Service } from './usecases/service.js';

export interface Observed {
  readonly config: Config;
  readonly database: Database | undefined;
  /** The limiter of the rules in force. */
  readonly limiter: () => Limiter;
  readonly metrics: Metrics;
  readonly traffic: Traffic;
  readonly logger: Logger;
}

/** Who is told of each decision and of what comes back. */
export interface Observation extends Pick<Service, 'observe' | 'returned' | 'adjusted' | 'crowded'> {
  /** Saves what is left; webhooks that have not arrived are given up. */
  close(): Promise<void>;
}

function hookOf({ config, logger }: Observed): Webhook | undefined {
  if (config.webhook === undefined) return undefined;
  const onDropped = ({ id, type }: { id: string; type: string }, why: string): void =>
    logger.error({ event: type, id }, `a webhook was not delivered: ${why}`);
  return webhook({ ...config.webhook, onDropped });
}

/** Checkpoints as the keeper has them, with the store's microseconds, over those of the database. */
const checkpointsOf = ({ checkpoints }: Database): Checkpoints => ({
  save: (taken) => checkpoints.save(taken.map((one) => ({ ...one, takenAt: Math.floor(one.takenAt / 1000) }))),
  async find(of) {
    const found = await checkpoints.find(of);
    return found && { used: found.used, takenAt: found.takenAt * 1000 };
  },
});

function keeperOf({ database, limiter, logger }: Observed): QuotaKeeper | undefined {
  if (database === undefined) return undefined;
  const onEvent: Parameters<typeof quotaKeeper>[0]['onEvent'] = ({ type, message }) => logger.warn({ event: `quota-${type}` }, message);
  return quotaKeeper({ checkpoints: checkpointsOf(database), limiter, clock: systemClock(), onEvent });
}

/** Composes all that looks at decisions: metrics, traffic, events of quotas, their checkpoints. */
export function observation(observed: Observed): Observation {
  const { metrics, traffic, logger } = observed;
  const hook = hookOf(observed);
  const keeper = keeperOf(observed);
  const watchQuotas = nearLimits((event) => {
    const { id, rule, percent } = event;
    logger.info({ event: 'quota-near-limit', rule, percent }, `a customer has used ${percent} % of a quota`);
    hook?.send({ id, type: 'quota.near-limit', data: { ...event, resetsAt: new Date(event.resetsAt).toISOString() } });
  });
  return {
    observe(made) {
      const decisions = made.map(({ decision }) => decision);
      metrics.decided(decisions);
      traffic.observe(decisions);
      for (const one of made) {
        if (one.limit.kind !== 'quota') continue;
        watchQuotas(one.decision);
        keeper?.observe(one);
      }
    },
    returned: (of, units) => keeper?.returned(of, units),
    adjusted: (now) => keeper?.adjusted(now),
    crowded: crowdedLog(logger, metrics.crowded),
    async close() {
      await keeper?.close();
      hook?.close();
    },
  };
}
