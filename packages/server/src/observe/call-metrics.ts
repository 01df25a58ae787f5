import type { RedisCall } from 'headgate/redis';
import { Histogram, type Registry } from 'prom-client';

/** Seconds, from a round trip on one machine to what no deadline waits for. */
export const buckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/** How long Redis takes. A call carries up to 64 checks. */
export function callMetrics(registry: Registry): (call: RedisCall) => void {
  const calls = new Histogram({
    name: 'headgate_store_call_duration_seconds',
    help: 'Time of the calls of Redis that decide, up to 64 checks each, by shard and result (ok, error). One that never comes back is not in it.',
    labelNames: ['shard', 'result'] as const,
    buckets,
    registers: [registry],
  });
  return ({ shard, ms, ok }) => calls.observe({ shard, result: ok ? 'ok' : 'error' }, ms / 1000);
}
