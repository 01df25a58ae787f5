import { describe, expect, it } from 'vitest';
import { start } from './support/service.js';

const rules = `
version: 1
rules:
  - { name: login, limit: { consecutiveFailures: { limit: 100, free: 1, firstWait: 30s, longestWait: 1h, forget: 400d } }, whenUnavailable: refuse }
  - { name: perIp, limit: { fixedWindow: { limit: 100, window: 1d } } }
`;
const login = { rule: 'login', key: 'ada@example.com' };

describe('POST /v1/outcome', () => {
  it('counts an attempt as failed from when it began, until a success forgets all', async () => {
    const { post } = await start({ rules });
    const first = (await post('/v1/check', login)).json.decision;
    expect(first).toMatchObject({ allowed: true, limit: 100, remaining: 1 });
    expect((await post('/v1/outcome', { id: first.id, outcome: 'failure' })).json).toEqual({ forgotten: false });
    const second = await post('/v1/check', login);
    expect(second.json.decision).toMatchObject({ allowed: true, remaining: 0 });
    expect(second.headers['ratelimit-policy']).toBe('"login";q=100;w=34560000');
    expect(second.headers['ratelimit']).toBe('"login";r=0;t=30');
    const third = (await post('/v1/check', login)).json.decision;
    expect(third).toMatchObject({ allowed: false, reason: 'limited' });
    expect(third).not.toHaveProperty('id');
    expect(third.retryAfterMs).toBeGreaterThan(28_000);
    expect((await post('/v1/outcome', { id: second.json.decision.id, outcome: 'success' })).json).toEqual({ forgotten: true });
    expect((await post('/v1/outcome', { id: second.json.decision.id, outcome: 'success' })).json).toEqual({ forgotten: false });
    expect((await post('/v1/check', login)).json.decision).toMatchObject({ allowed: true, remaining: 1 });
  });

  it('takes an aborted attempt back by a refund, and one of a group by its own id', async () => {
    const { post } = await start({ rules });
    const { decisions } = (await post('/v1/check', { checks: [login, { rule: 'perIp', key: '203.0.113.7' }] })).json;
    expect((await post('/v1/refund', { id: decisions[0].id })).json).toEqual({ returned: 1 });
    expect((await post('/v1/peek', login)).json.decision).toMatchObject({ remaining: 2 });
    expect((await post('/v1/peek', { rule: 'perIp', key: '203.0.113.7' })).json.decision).toMatchObject({ remaining: 99 });
  });

  it('of an id that is no attempt, or none at all, is a problem that points to it', async () => {
    const { post, get } = await start({ rules });
    const { id } = (await post('/v1/check', { rule: 'perIp', key: '203.0.113.7' })).json.decision;
    const wrong = await post('/v1/outcome', { id, outcome: 'success' });
    expect([wrong.status, wrong.json.errors[0].pointer]).toEqual([400, '/id']);
    expect(wrong.json.errors[0].detail).toContain('does not count consecutive failures');
    expect((await post('/v1/outcome', { id: 'forged', outcome: 'success' })).json.errors[0].pointer).toBe('/id');
    const method = await get('/v1/outcome');
    expect([method.status, method.headers['allow']]).toEqual([405, 'POST']);
    expect((await post('/v1/refund', { id })).json).toEqual({ returned: 1 });
  });
});
