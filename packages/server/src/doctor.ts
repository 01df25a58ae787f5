import { StoreError, tokenBucket } from 'headgate';
import { openRedis } from './redis.js';
import { nodeConnector } from './redis-nodes.js';
import type { DoctorConfig } from './config.js';
import { diagnose, type Checker, type Diagnosis } from './usecases/doctor/index.js';

const patienceMs = 2000;
/** Full again within a second, so that its key expires then; never empty at the pace of a measurement. */
const limit = tokenBucket({ capacity: 100_000, refill: '100000/s' });

/** Checks over a store of its own. The store, not a limiter: a limiter answers by its fallback, and hides what Redis said. */
function openChecker({ redis, prefix }: DoctorConfig): Checker {
  const store = openRedis(redis, prefix);
  return {
    async check(key) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new StoreError('timed out')), patienceMs);
      });
      try {
        await Promise.race([store.decide({ checks: [{ rule: 'headgate-doctor', key, limit, cost: 1 }] }), late]);
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => store.close(),
  };
}

/** Composes the doctor: connections, a store, the use case. */
export function examineRedis(config: DoctorConfig): Promise<Diagnosis> {
  const { redis, prefix, deadlineMs } = config;
  const { kind, nodes, name, database, username, password } = redis;
  // A user without a password does not log in; it may even be a password whose colon was forgotten, and is not shown.
  const user = password === undefined ? undefined : (username ?? 'default');
  return diagnose({
    target: { kind, nodes, name, database, user },
    connect: nodeConnector(redis),
    openChecker: () => openChecker(config),
    prefix,
    deadlineMs,
  });
}
