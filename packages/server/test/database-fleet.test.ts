import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startRedis } from '../../../test/support/redis.js';
import { describeBoth } from './support/databases.js';
import { later, start, temporary, type Started } from './support/service.js';

const file = (limit: number) => ({
  version: 1,
  rules: [{ name: 'search', key: ['apiKey'], limit: { fixedWindow: { limit, window: '1h' } } }],
});

const limitAt = async ({ post }: Started): Promise<number> =>
  (await post('/v1/peek', { rule: 'search', key: 'k' })).json.decision.limit as number;

describe('two servers on one database and one Redis', () => {
  describeBoth('that is', (kind) => {
    it('have a rule in force that is edited through one of them within 2 s; go on while it is away; both restart without it', async () => {
      const redis = await startRedis();
      later(redis.kill);
      const database = await kind.fresh();
      await database.open().rules.importAll({ base: 0, author: 'test', reason: '', file: file(5) });
      const caches = [temporary(), temporary()];
      const serve = (cache: string): Promise<Started> =>
        start({ redis: `redis://127.0.0.1:${redis.port}`, flags: ['--database', database.url, '--cache', join(cache, 'rules')] });
      const servers = await Promise.all(caches.map(serve));
      const [one, other] = servers as [Started, Started];

      const edited = await one.get('/admin/v1/rules/search', {
        method: 'PUT',
        headers: { 'content-type': 'application/json', 'if-match': '"1"' },
        body: JSON.stringify({ rule: file(7).rules[0], reason: 'more' }),
      });
      expect(edited.status).toBe(200);
      await expect.poll(() => limitAt(other), { timeout: 2000, interval: 20 }).toBe(7);
      await expect.poll(() => limitAt(one), { timeout: 2000 }).toBe(7);
      // What is in force is on disk within a moment.
      for (const cache of caches) await expect.poll(() => readdirSync(join(cache, 'rules'))).toContain('rules.copy');
      await expect.poll(() => one.get('/admin/v1/versions').then(({ status }) => status)).toBe(200);

      await database.goAway();
      for (const server of servers) {
        expect(await server.post('/v1/check', { rule: 'search', key: 'k' })).toMatchObject({ status: 200, json: { allowed: true } });
      }
      await expect.poll(() => one.get('/admin/v1/rules').then(({ status }) => status), { timeout: 15_000 }).toBe(503);
      for (const server of servers) await server.app.close();
      const again = await Promise.all(caches.map(serve));
      for (const server of again) expect(await limitAt(server)).toBe(7);
      const { json } = await again[0]!.post('/v1/peek', { rule: 'search', key: 'k' });
      expect(json.decision.remaining).toBe(5);
      await database.comeBack();
    });
  });
});
