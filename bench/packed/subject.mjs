// One layout on a Redis of its own.
import { Redis } from 'ioredis';
import { startRedis } from '../../tools/redis.mjs';
import { redisUse } from '../redis-use.mjs';
import { tagOf } from './clients.mjs';

/** As many checks travel together as in the product, and a few calls are under way, so that Redis never waits. */
export const batchSize = 64;
const callsUnderWay = 4;

const figure = (text, name) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(text)[1]);

/** Starts a Redis with the layout's script; `macs` are those of all clients. */
export async function startSubject(layout, { macs, clients }) {
  const server = await startRedis();
  const redis = new Redis({ host: server.host, port: server.port });
  for (const [name, value] of Object.entries(layout.config ?? {})) await redis.config('SET', name, value);
  const sha = await redis.script('LOAD', layout.source);
  const { keyOf, packs } = layout.prepare(clients);

  const check = (ids, { units, us, cost, full }) => {
    const keys = ids.map((i) => keyOf(macs, i));
    const tags = layout.packed ? Buffer.concat(ids.map((i) => tagOf(macs, i))) : '';
    return redis.evalsha(sha, keys.length, ...keys, units, us, cost, full, tags);
  };
  const used = async () => figure(await redis.info('memory'), 'used_memory');
  return {
    layout,
    packs,
    check,
    used,
    /** Batches as they come, a few under way; each is given to `answered` in its order. */
    async checkAll(batches, limit, answered = () => {}) {
      const underWay = [];
      const next = async () => {
        const [ids, reply] = underWay.shift();
        answered(ids, await reply);
      };
      for (const ids of batches) {
        underWay.push([ids, check(ids, limit)]);
        if (underWay.length >= callsUnderWay) await next();
      }
      while (underWay.length > 0) await next();
    },
    /** Time of the scripts, and CPU of all of Redis, in microseconds since it started. */
    async spent() {
      const { cpuUs } = await redisUse([redis], []);
      const usec = /^cmdstat_evalsha:calls=\d+,usec=(\d+)/m.exec(await redis.info('commandstats'));
      return { cpuUs, scriptUs: Number(usec?.[1] ?? 0) };
    },
    /** How many clients' states there are, and how Redis keeps one. */
    async states() {
      if (!layout.packed) return redis.dbsize();
      return redis.eval(`local n = 0 for _, k in ipairs(redis.call('KEYS', '*')) do n = n + ${layout.length} end return n`, 0);
    },
    empty: () => redis.flushall('SYNC'),
    encoding: async () => redis.object('ENCODING', await redis.randomkey()),
    async stop() {
      redis.disconnect();
      await server.stop();
    },
  };
}
