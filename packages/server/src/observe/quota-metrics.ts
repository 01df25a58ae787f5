import type { Registry } from 'prom-client';
import type { KeeperStats } from '../usecases/quota-keeper.js';
import { readMetrics } from './read-metrics.js';
import type { WebhookStats } from './webhook.js';

const named = 'headgate_quota_checkpoints';

/** Of the checkpoints of quotas, where there is a database. */
export function checkpointMetrics(registry: Registry, stats: () => KeeperStats): void {
  const { counter, gauge } = readMetrics(registry);
  counter(`${named}_saved_total`, 'Checkpoints of quotas saved.', () => stats().saved);
  counter(`${named}_failed_total`, 'Checkpoints that could not be saved and wait for the next time, each time.', () => stats().failed);
  counter(`${named}_dropped_total`, 'Changes of quotas without a checkpoint, as too many waited.', () => stats().dropped);
  counter(`${named}_restored_total`, 'Counters of quotas that were lost and are back from their checkpoint.', () => stats().restored);
  counter(`${named}_looked_up_total`, 'Checkpoints looked up, as nothing of the quota was used.', () => stats().lookedUp);
  counter(`${named}_lookups_failed_total`, 'Queries for checkpoints that failed.', () => stats().lookupsFailed);
  gauge(`${named}_lookups_waiting`, 'Checkpoints that are to be looked up.', () => stats().lookupsWaiting);
  gauge(`${named}_unsaved`, 'Counters of quotas that changed and are not saved yet.', () => stats().unsaved);
  gauge(
    `${named}_oldest_unsaved_seconds`,
    'Age of the oldest change that is not saved; 0 if there is none.',
    () => stats().oldestUnsavedMs / 1000,
  );
}

/** Of the webhook, where there is one. */
export function webhookMetrics(registry: Registry, stats: () => WebhookStats): void {
  const { counter, gauge } = readMetrics(registry);
  counter('headgate_webhooks_delivered_total', 'Webhooks that arrived.', () => stats().delivered);
  counter('headgate_webhooks_failed_attempts_total', 'Attempts to deliver a webhook that failed.', () => stats().failed);
  counter('headgate_webhooks_dropped_total', 'Webhooks given up, or without room to wait.', () => stats().dropped);
  gauge('headgate_webhooks_waiting', 'Webhooks not delivered yet, with those that are tried again.', () => stats().waiting);
}
