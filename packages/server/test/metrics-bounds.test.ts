import { createLimiter, fixedWindow } from 'headgate';
import { redisStore, type RedisCall } from 'headgate/redis';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { startRedis } from '../../../test/support/redis.js';
import { createMetrics } from '../src/observe/metrics.js';
import { otherRules } from '../src/observe/rule-labels.js';
import { createTraffic } from '../src/observe/traffic.js';
import { ask, later, start } from './support/service.js';
import { bytesInUse } from './support/traffic.js';

const keys = 1_000_000;
const atOnce = 2000;
const mostNotes = 1000;

describe('1,000,000 different keys', () => {
  it(
    'leave series, notes and heap bounded: all metrics, all rules, and many more refused keys than notes',
    { timeout: 300_000 },
    async () => {
      const redis = await startRedis();
      later(redis.kill);
      const client = new Redis(redis.port, { lazyConnect: true });
      later(() => client.disconnect());
      // More rules than have a label of their own.
      const names = Array.from({ length: 1500 }, (_, i) => `rule-${i}`);
      const limit = fixedWindow({ limit: 1, window: '1h' });
      let tell: (call: RedisCall) => void = () => undefined;
      const limiter = createLimiter({
        store: redisStore({ client, onCall: (call) => tell(call) }),
        rules: Object.fromEntries(names.map((name) => [name, { limit }])),
        notes: { max: mostNotes },
        deadline: '10s',
        fleetSize: 1,
        onEvent: () => undefined,
      });
      later(() => limiter.close());
      const traffic = createTraffic({ secret: 'shared by all servers of a fleet' });
      const metrics = createMetrics({ stats: limiter.stats, shards: ['store'], mostNotes, version: '1.2.3' }, traffic);
      tell = metrics.called;
      await limiter.ready();

      // Collections of a kind are a series from the first of them on; there are four kinds.
      const seriesAndHeap = async () => ({
        series: (await metrics.text()).text.split('\n').filter((line) => /^[a-z]/.test(line) && !line.startsWith('nodejs_gc_')).length,
        heap: bytesInUse(),
      });
      async function pass(from: number, to: number): Promise<void> {
        for (let first = from; first < to; first += atOnce) {
          const asked = Array.from({ length: atOnce }, (_, i) => first + i);
          // Every tenth key is asked for once too often.
          const all = [...asked, ...asked.filter((key) => key % 10 === 0)];
          const decisions = await Promise.all(all.map((key) => limiter.check(names[key % names.length] ?? '', `key-${key}`)));
          metrics.decided(decisions);
          traffic.observe(decisions);
        }
      }
      await pass(0, keys / 10);
      const early = await seriesAndHeap();
      await pass(keys / 10, keys);
      const late = await seriesAndHeap();

      expect(limiter.stats()).toMatchObject({ checks: keys * 1.1, degraded: 0 });
      expect(limiter.stats().notes).toBeLessThanOrEqual(mostNotes);
      expect(limiter.stats().notesDropped).toBeGreaterThan(0);
      expect(late.series).toBeLessThanOrEqual(early.series + 10);
      expect(late.series).toBeLessThan(10_000);
      // Nine times as many keys, and what is kept has not grown with them.
      expect(late.heap - early.heap).toBeLessThan(20e6);
      const { text } = await metrics.text();
      for (const name of ['headgate_decisions_total', 'headgate_near_limit_total', 'headgate_keys_seen'])
        expect(text.split('\n').filter((line) => line.startsWith(name) && line.includes(otherRules)).length).toBeGreaterThan(0);
    },
  );
});

describe('names that callers make up', () => {
  it('of rules, paths, methods, fields and bodies make no series', async () => {
    const { url, get, post } = await start();
    const headers = { 'content-type': 'application/json' };
    const seriesOf = async () =>
      (await get('/metrics')).text
        .split('\n')
        .flatMap((line) => /^headgate_[^ ]+/.exec(line) ?? [])
        .sort();
    async function invent(i: number): Promise<void> {
      await post('/v1/check', { rule: `made-up-${i}`, key: `key-${i}` });
      await post('/v1/check', { checks: [{ rule: 'search', key: `key-${i}`, plan: `made-up-${i}` }] });
      await ask(`${url}/made/up/${i}`, { headers });
      await ask(`${url}/v1/gate/made/up/${i}?${i}`, { method: i % 2 === 0 ? 'PROPFIND' : 'GET', headers: { host: `made-up-${i}` } });
      await ask(`${url}/v1/quotas/made-up-${i}`);
      await ask(`${url}/admin/v1/keys/made-up-${i}`);
      await ask(`${url}/v1/check`, { method: 'POST', headers: { 'content-type': `made/up-${i}` }, body: '{}' });
      await ask(`${url}/v1/check/${i}`, { method: 'POST', headers, body: `{"made-up-${i}` });
    }
    for (let i = 0; i < 2; i += 1) await invent(i);
    await seriesOf();
    const before = await seriesOf();
    for (let i = 2; i < 150; i += 1) await invent(i);
    const after = await seriesOf();
    expect(after).toEqual(before);
    expect(after.join('\n')).not.toContain('made-up');
  });
});
