import { systemClock, type Decision } from 'headgate';
import type { Config } from './config.js';
import type { Database } from './database/open.js';
import { crowdedLog } from './observe/crowded.js';
import type { Logger } from './observe/logger.js';
import type { Metrics } from './observe/metrics.js';
import { checkpointMetrics, webhookMetrics } from './observe/quota-metrics.js';
import type { Traffic } from './observe/traffic.js';
import { mostWaiting, webhook, type Webhook } from './observe/webhook.js';
import { nearLimits, type NearLimits } from './usecases/near-limit.js';
import { quotaKeeper, type Checkpoints, type QuotaKeeper } from './usecases/quota-keeper.js';
import type { InForce, Made, Service } from './usecases/service.js';

export interface Observed {
  readonly config: Config;
  readonly database: Database | undefined;
  readonly current: () => InForce;
  /** Shared by all servers that should agree on the ids of events. */
  readonly eventSecret: string | Buffer;
  readonly metrics: Metrics;
  readonly traffic: Traffic;
  readonly logger: Logger;
}

/** Who is told of each decision and of what comes back. */
export interface Observation extends Pick<Service, 'observe' | 'returned' | 'adjusted' | 'charged' | 'whileLowering' | 'crowded'> {
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
  async find(all) {
    const found = await checkpoints.find(all);
    return found.map((one) => one && { used: one.used, takenAt: one.takenAt * 1000 });
  },
});

/** An event that may have been told before does not take the last room of those that were not. */
const roomForRepeats = mostWaiting / 2;

function watchOf({ current, eventSecret, logger }: Observed, hook: Webhook | undefined): NearLimits {
  return nearLimits({
    secret: eventSecret,
    countsLocally(rule) {
      const mode = current().rules.options[rule]?.mode;
      return mode !== undefined && mode !== 'exact';
    },
    tell(event, repeats) {
      if (repeats && hook !== undefined && hook.stats().waiting >= roomForRepeats) return false;
      const { id, rule, percent, resetsAt } = event;
      logger.info({ event: 'quota-near-limit', rule, percent }, `a customer has used ${percent} % of a quota`);
      hook?.send({ id, type: 'quota.near-limit', data: { ...event, resetsAt: new Date(resetsAt).toISOString() } });
      return true;
    },
  });
}

function keeperOf({ database, current, logger }: Observed, onRestored: (now: Decision) => void): QuotaKeeper | undefined {
  if (database === undefined) return undefined;
  return quotaKeeper({
    checkpoints: checkpointsOf(database),
    limiter: () => current().limiter,
    clock: systemClock(),
    onEvent: ({ type, message }) => logger.warn({ event: `quota-${type}` }, message),
    onRestored,
  });
}

/** Those of which the numbers are true: of a group that refused, what passed by itself took nothing, and may not even have been asked. */
function quotasIn(made: readonly Made[]): readonly Made[] {
  const isRefused = made.some(({ decision }) => !decision.allowed);
  return made.filter(({ limit, decision }) => limit.kind === 'quota' && !(isRefused && decision.allowed));
}

/** Composes all that looks at decisions: metrics, traffic, events of quotas, their checkpoints. */
export function observation(observed: Observed): Observation {
  const { metrics, traffic, logger } = observed;
  const hook = hookOf(observed);
  const watch = watchOf(observed, hook);
  const keeper = keeperOf(observed, watch.changed);
  if (hook !== undefined) metrics.add((registry) => webhookMetrics(registry, hook.stats));
  if (keeper !== undefined) metrics.add((registry) => checkpointMetrics(registry, keeper.stats));
  return {
    observe(made) {
      const decisions = made.map(({ decision }) => decision);
      metrics.decided(decisions);
      traffic.observe(decisions);
      for (const one of quotasIn(made)) {
        watch.decided(one.decision);
        keeper?.observe(one);
      }
    },
    returned: (of, units) => keeper?.returned(of, units),
    adjusted(now) {
      watch.changed(now.decision);
      keeper?.adjusted(now);
    },
    charged(now) {
      watch.changed(now.decision);
      keeper?.observe(now);
    },
    whileLowering: (of, work) => (keeper === undefined ? work() : keeper.whileLowering(of, work)),
    crowded: crowdedLog(logger, metrics.crowded),
    async close() {
      await keeper?.close();
      hook?.close();
    },
  };
}
