import { StoreError, tokenBucket } from 'headgate';
import { openRedis } from './redis.js';
import { nodeConnector } from './redis-nodes.js';
import type { RedisServer } from './config.js';
import { diagnose, type Checker, type Diagnosis } from './usecases/doctor/index.js';

/** What the doctor is to look at. */
export interface DoctorConfig {
  /** At least one. */
  readonly redis: readonly RedisServer[];
  readonly prefix: string;
  readonly deadlineMs: number;
}

/** What was found at one of the Redis that were named. */
export interface Visit extends Diagnosis {
  readonly server: RedisServer;
}

const patienceMs = 2000;
/** Full again within a second, so that its key expires then; never empty at the pace of a measurement. */
const limit = tokenBucket({ capacity: 100_000, refill: '100000/s' });

/** Checks over a store of its own. The store, not a limiter: a limiter answers by its fallback, and hides what Redis said. */
function openChecker({ address }: RedisServer, prefix: string): Checker {
  const store = openRedis([{ name: undefined, address, weight: 1 }], { prefix });
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

/** Composes the doctor of one Redis: connections, a store, the use case. */
async function examine(server: RedisServer, { prefix, deadlineMs }: DoctorConfig): Promise<Visit> {
  const { name: shard, address } = server;
  const { kind, nodes, name, database, username, password } = address;
  // A user without a password does not log in; it may even be a password whose colon was forgotten, and is not shown.
  const user = password === undefined ? undefined : (username ?? 'default');
  const { reached, findings } = await diagnose({
    target: { kind, nodes, name, database, user },
    connect: nodeConnector(address),
    openChecker: () => openChecker(server, prefix),
    prefix,
    deadlineMs,
  });
  return { server, reached, findings: shard === undefined ? findings : findings.map((finding) => ({ ...finding, shard })) };
}

/** Looks at each in turn: while times are taken, nothing else may go on in this process. */
export async function examineRedis(config: DoctorConfig): Promise<Visit[]> {
  const visits: Visit[] = [];
  for (const server of config.redis) visits.push(await examine(server, config));
  return visits;
}
