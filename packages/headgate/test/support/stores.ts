import { Redis } from 'ioredis';
import { createRedisStore } from '../../src/stores/redis/redis-store.js';
import { memoryStore } from '../../src/stores/memory.js';
import { fakeClock, type StoreHarness } from '../../src/testing/index.js';
import { startRedis, type RedisServer } from '../../../../test/support/redis.js';

const clockLine = /^local time = redis.*$/m;
const ttlLine = 'return math.ceil(us / 1000) + 1';

/** The scripts with a clock that stands: TIME is a key, and TTLs, which run in real time, are an hour longer. */
export function withTestClock(source: string): string {
  if (!clockLine.test(source)) throw new Error('the script has no line that reads the clock');
  return source
    .replace(clockLine, "local now = tonumber(redis.call('GET', 'test:clock'))")
    .replace(ttlLine, `${ttlLine} + 3600000`)
    .replace('ceil(lasts / 1000) + 1', 'ceil(lasts / 1000) + 3600001')
    .replace('* per_ms) + 2', '* per_ms) + 3600002');
}

export interface TestedStore {
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** A store without counters, and its clock at 2026-01-01T00:00:00Z. */
  fresh(): Promise<StoreHarness>;
}

export const memoryUnderTest: TestedStore = {
  name: 'memory',
  start: async () => {},
  stop: async () => {},
  async fresh() {
    const clock = fakeClock();
    return { store: memoryStore({ clock }), advance: (us) => clock.advance(us) };
  },
};

export function redisUnderTest(): TestedStore {
  let server: RedisServer;
  let client: Redis;
  let store: ReturnType<typeof createRedisStore>;
  return {
    name: 'Redis',
    async start() {
      server = await startRedis();
      client = new Redis(server.port, server.host);
      store = createRedisStore({ client }, { editScript: withTestClock });
    },
    async stop() {
      await store.close();
      client.disconnect();
      await server.stop();
    },
    async fresh() {
      const clock = fakeClock();
      await client.flushdb();
      await client.set('test:clock', clock.nowUs());
      return {
        store,
        async advance(us) {
          clock.advance(us);
          await client.set('test:clock', clock.nowUs());
        },
      };
    },
  };
}
