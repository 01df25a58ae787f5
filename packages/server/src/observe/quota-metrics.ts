import type { Registry } from 'prom-client';
import type { KeeperStats } from '../usecases/quota-keeper.js';
import { readMetrics } from './read-metrics.js';
import type { WebhookStats } from './webhook.js';

const named = 'headgate_quota_checkpoints';

/** Of the checkpoints of quotas, where there is a database. */
export function checkpointMetrics(registry: Registry, stats: () => KeeperStats): void {
  const { counter, gauge } = readMetrics(registry);
  counter({ name: `${named}_saved_total`, help: 'Checkpoints of quotas saved.', read: () => stats().saved });
  counter({
    name: `${named}_failed_total`,
    help: 'Checkpoints that could not be saved and wait for the next time, each time.',
    read: () => stats().failed,
  });
  counter({
    name: `${named}_dropped_total`,
    help: 'Changes of quotas without a checkpoint, as too many waited.',
    read: () => stats().dropped,
  });
  counter({
    name: `${named}_restored_total`,
    help: 'Counters of quotas that were lost and are back from their checkpoint.',
    read: () => stats().restored,
  });
  counter({
    name: `${named}_looked_up_total`,
    help: 'Checkpoints looked up, as nothing of the quota was used.',
    read: () => stats().lookedUp,
  });
  counter({ name: `${named}_lookups_failed_total`, help: 'Queries for checkpoints that failed.', read: () => stats().lookupsFailed });
  gauge({ name: `${named}_lookups_waiting`, help: 'Checkpoints that are to be looked up.', read: () => stats().lookupsWaiting });
  gauge({ name: `${named}_unsaved`, help: 'Counters of quotas that changed and are not saved yet.', read: () => stats().unsaved });
  gauge({
    name: `${named}_oldest_unsaved_seconds`,
    help: 'Age of the oldest change that is not saved; 0 if there is none.',
    aggregator: 'max',
    read: () => stats().oldestUnsavedMs / 1000,
  });
}

/** Of the webhook, where there is one. */
export function webhookMetrics(registry: Registry, stats: () => WebhookStats): void {
  const { counter, gauge } = readMetrics(registry);
  counter({ name: 'headgate_webhooks_delivered_total', help: 'Webhooks that arrived.', read: () => stats().delivered });
  counter({
    name: 'headgate_webhooks_failed_attempts_total',
    help: 'Attempts to deliver a webhook that failed.',
    read: () => stats().failed,
  });
  counter({ name: 'headgate_webhooks_dropped_total', help: 'Webhooks given up, or without room to wait.', read: () => stats().dropped });
  gauge({
    name: 'headgate_webhooks_waiting',
    help: 'Webhooks not delivered yet, with those that are tried again.',
    read: () => stats().waiting,
  });
}
