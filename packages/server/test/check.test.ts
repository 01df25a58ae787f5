import { parseList } from 'structured-headers';
import { describe, expect, it } from 'vitest';
import { start } from './support/service.js';

const rules = `
version: 1
rules:
  - { name: search, limit: { tokenBucket: { capacity: 20, refill: 2/s } }, plans: { pro: { tokenBucket: { capacity: 200, refill: 20/s } } } }
  - { name: minute, limit: { fixedWindow: { limit: 1, window: 1h } } }
  - { name: hundred, limit: { fixedWindow: { limit: 100, window: 1d } } }
  - { name: monthly, limit: { quota: { limit: 1, period: month } } }
  - { name: watch, shadow: true, limit: { fixedWindow: { limit: 0, window: 1m } } }
  - { name: exports, limit: { concurrency: { limit: 1, expires: 1m } } }
  - { name: free, limit: { unlimited: {} } }
`;

describe('POST /v1/check', () => {
  it('answers 200 with the decision and its limits, also when it refuses', async () => {
    const { post } = await start({ rules });
    const first = await post('/v1/check', { rule: 'search', key: 'k', cost: 20 });
    expect(first.status).toBe(200);
    expect(first.json).toMatchObject({
      allowed: true,
      decision: {
        rule: 'search',
        key: 'k',
        cost: 20,
        limit: 20,
        remaining: 0,
        retryAfterMs: 0,
        reason: 'ok',
        source: 'store',
        degraded: false,
        shadow: false,
        wouldAllow: true,
      },
    });
    expect(first.json.decision.decidedAt).toBeGreaterThan(1.7e15);
    expect(first.json.decisions).toEqual([first.json.decision]);
    expect(first.json.decision.id).toMatch(/^[\w-]+$/);
    expect(parseList(first.headers['ratelimit-policy'] ?? '')).toEqual([['search', new Map(Object.entries({ q: 20, w: 10 }))]]);
    expect(first.headers['ratelimit']).toMatch(/^"search";r=0;t=1$/);

    const second = await post('/v1/check', { rule: 'search', key: 'k' });
    expect(second.status).toBe(200);
    expect(second.json).toMatchObject({ allowed: false, decision: { allowed: false, reason: 'limited' } });
    expect(second.json.decision.retryAfterMs).toBeGreaterThan(0);
    expect(second.json.decision).not.toHaveProperty('id');
    expect(second.headers).not.toHaveProperty('retry-after');
  });

  it('answers as JSON of one form, whatever the key is called', async () => {
    const { post } = await start({ rules });
    for (const key of ['k', '"quoted"\\', 'line\nbreak', 'schlüssel 🔑', '{"allowed":false}', '__proto__']) {
      const { text, json, headers } = await post('/v1/check', { rule: 'search', key });
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      expect(Number(headers['content-length'])).toBe(Buffer.byteLength(text));
      expect(text).toBe(JSON.stringify(json));
      expect(Object.keys(json)).toEqual(['allowed', 'decision', 'decisions']);
      expect(json).toMatchObject({ decision: { key }, decisions: [{ key }] });
    }
    const { text, json } = await post('/v1/check', { checks: ['free', 'search', 'minute'].map((rule) => ({ rule, key: 'k,"k"' })) });
    expect(text).toBe(JSON.stringify(json));
    expect(json.decision).toEqual(json.decisions[2]);
  });

  it.each(['search', 'minute', 'monthly', 'watch', 'exports', 'free'])(
    'says of a check by %s the same alone and in a group',
    async (rule) => {
      const { post } = await start({ rules });
      const other = { rule: 'hundred', key: 'other' };
      for (const plan of [undefined, 'pro'])
        for (let i = 0; i < 3; i += 1) {
          const [alone, grouped] = [
            { rule, key: `alone ${plan}`, plan },
            { rule, key: `group ${plan}`, plan },
          ];
          const { json: one } = await post('/v1/check', alone);
          const { json: group } = await post('/v1/check', { checks: [grouped, other] });
          const { allowed, cost, limit, remaining, reason, source, degraded, shadow, wouldAllow, id } = one.decision;
          expect(group.decisions[0]).toMatchObject({ rule, allowed, cost, limit, remaining, reason, source, degraded, shadow, wouldAllow });
          expect('id' in group.decisions[0]).toBe(id !== undefined);
          expect(group.allowed).toBe(one.allowed);
        }
    },
  );

  it('decides several together: the first refuses, and the second loses nothing (case 8)', async () => {
    const { post } = await start({ rules });
    const checks = [
      { rule: 'minute', key: 'k' },
      { rule: 'hundred', key: 'k' },
    ];
    const answers = [];
    for (let i = 0; i < 10; i += 1) answers.push(await post('/v1/check', { checks }));
    expect(answers.filter(({ json }) => json.allowed)).toHaveLength(1);
    const last = answers.at(-1)?.json;
    expect(last.decision).toMatchObject({ rule: 'minute', allowed: false });
    expect(last.decisions).toMatchObject([
      { rule: 'minute', allowed: false },
      { rule: 'hundred', allowed: true, remaining: 99 },
    ]);
    expect(last.decisions[1]).not.toHaveProperty('id');
    expect((await post('/v1/peek', { rule: 'hundred', key: 'k' })).json.decision.remaining).toBe(99);
  });

  it("takes the numbers of the plan; of one that does not exist, the rule's own", async () => {
    const { post } = await start({ rules });
    const pro = await post('/v1/check', { rule: 'search', key: 'k', plan: 'pro' });
    expect(pro.json.decision.limit).toBe(200);
    expect(pro.headers['ratelimit-policy']).toBe('"search";q=200;w=10');
    for (const plan of ['none', '__proto__', 'constructor']) {
      expect((await post('/v1/check', { rule: 'search', key: 'k', plan })).json.decision.limit).toBe(20);
    }
  });

  it('writes Infinity as null, and no header where there is no number', async () => {
    const { post } = await start({ rules });
    const free = await post('/v1/check', { rule: 'free', key: 'k' });
    expect(free.json).toMatchObject({ allowed: true, decision: { limit: null, remaining: null } });
    expect(free.headers).not.toHaveProperty('ratelimit');
    const never = await post('/v1/check', { rule: 'search', key: 'k', cost: 21 });
    expect(never.json.decision).toMatchObject({ reason: 'cost-above-limit', retryAfterMs: null });
  });

  it('lets a shadow rule refuse nothing, and says what it would have done', async () => {
    const { post } = await start({ rules });
    const { json, headers } = await post('/v1/check', { rule: 'watch', key: 'k' });
    expect(json).toMatchObject({ allowed: true, decision: { shadow: true, wouldAllow: false } });
    expect(headers).not.toHaveProperty('ratelimit');
  });

  it('takes any text for a key, and tells keys apart', async () => {
    const { post } = await start({ rules });
    for (const key of ['__proto__', 'constructor', '{"a":1}', 'a b', 'ключ', '🦊', '*', ' ', 'x'.repeat(4096)]) {
      expect((await post('/v1/check', { rule: 'minute', key })).json.allowed, key).toBe(true);
    }
  });

  it('says when a quota is there again (case 35)', async () => {
    const { post } = await start({ rules });
    await post('/v1/check', { rule: 'monthly', key: 'k' });
    const { decision } = (await post('/v1/check', { rule: 'monthly', key: 'k' })).json;
    const month = new Date();
    const next = Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1);
    expect(Math.abs(decision.retryAfterMs - (next - Date.now()))).toBeLessThan(5000);
  });
});

describe('the other verbs', () => {
  it('peeks without taking', async () => {
    const { post } = await start({ rules });
    for (let i = 0; i < 3; i += 1) {
      const { json } = await post('/v1/peek', { rule: 'minute', key: 'k' });
      expect(json).toMatchObject({ allowed: true, decision: { remaining: 1 } });
      expect(json.decision).not.toHaveProperty('id');
    }
  });

  it('settles a reservation for less, and only once', async () => {
    const { post } = await start({ rules });
    const { json } = await post('/v1/reserve', { rule: 'hundred', key: 'k', cost: 10 });
    expect(json.decision.remaining).toBe(90);
    expect((await post('/v1/settle', { id: json.decision.id, actual: 4 })).json).toEqual({ returned: 6, charged: 0 });
    expect((await post('/v1/settle', { id: json.decision.id, actual: 0 })).json).toEqual({ returned: 0, charged: 0 });
    expect((await post('/v1/peek', { rule: 'hundred', key: 'k' })).json.decision.remaining).toBe(96);
  });

  it('settles a reservation for more, into debt', async () => {
    const { post } = await start({ rules });
    const { json } = await post('/v1/reserve', { rule: 'hundred', key: 'k', cost: 100 });
    expect((await post('/v1/settle', { id: json.decision.id, actual: 250 })).json).toEqual({ returned: 0, charged: 150 });
    expect((await post('/v1/check', { rule: 'hundred', key: 'k' })).json.allowed).toBe(false);
  });

  it('cancels and refunds, each once', async () => {
    const { post } = await start({ rules });
    const reserved = (await post('/v1/reserve', { rule: 'hundred', key: 'k', cost: 10 })).json.decision.id;
    expect((await post('/v1/cancel', { id: reserved })).json).toEqual({ returned: 10, charged: 0 });
    expect((await post('/v1/cancel', { id: reserved })).json).toEqual({ returned: 0, charged: 0 });
    const taken = (await post('/v1/check', { rule: 'hundred', key: 'k', cost: 5 })).json.decision.id;
    expect((await post('/v1/refund', { id: taken })).json).toEqual({ returned: 5 });
    expect((await post('/v1/refund', { id: taken })).json).toEqual({ returned: 0 });
    expect((await post('/v1/peek', { rule: 'hundred', key: 'k' })).json.decision.remaining).toBe(100);
  });

  it('gives back each check of a group by its own id', async () => {
    const { post } = await start({ rules });
    const { decisions } = (
      await post('/v1/check', {
        checks: [
          { rule: 'hundred', key: 'a', cost: 3 },
          { rule: 'hundred', key: 'b', cost: 4 },
        ],
      })
    ).json;
    expect((await post('/v1/refund', { id: decisions[1].id })).json).toEqual({ returned: 4 });
    expect((await post('/v1/peek', { rule: 'hundred', key: 'a' })).json.decision.remaining).toBe(97);
    expect((await post('/v1/peek', { rule: 'hundred', key: 'b' })).json.decision.remaining).toBe(100);
  });

  it('extends and releases a holder', async () => {
    const { post } = await start({ rules });
    const { id } = (await post('/v1/check', { rule: 'exports', key: 'k' })).json.decision;
    expect((await post('/v1/check', { rule: 'exports', key: 'k' })).json.allowed).toBe(false);
    expect((await post('/v1/extend', { id })).json).toEqual({ extended: true });
    expect((await post('/v1/release', { id })).json).toEqual({ released: true });
    expect((await post('/v1/release', { id })).json).toEqual({ released: false });
    expect((await post('/v1/extend', { id })).json).toEqual({ extended: false });
    expect((await post('/v1/check', { rule: 'exports', key: 'k' })).json.allowed).toBe(true);
  });
});
