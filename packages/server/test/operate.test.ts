import { describe, expect, it } from 'vitest';
import { start } from './support/service.js';

describe('for those who run it', () => {
  it('is alive and ready', async () => {
    const { get } = await start();
    expect((await get('/healthz')).status).toBe(200);
    expect((await get('/readyz')).status).toBe(200);
  });

  it('tells where the rules in force are from, and whether that can be read', async () => {
    const { get } = await start();
    expect((await get('/readyz')).json).toEqual({
      status: 'ready',
      rules: { from: 'file', ageMs: expect.any(Number) as number, reachable: true },
    });
    const { text } = await get('/metrics');
    expect(text).toContain('headgate_rules_source_reachable 1');
    expect(text).toMatch(/^headgate_rules_age_seconds \d+(\.\d+)?$/m);
    expect(text).not.toMatch(/^headgate_rules_version /m);
  });

  it('counts decisions by rule, outcome and source, never by key', async () => {
    const { get, post } = await start({
      rules:
        'version: 1\nrules:\n  - { name: one, limit: { fixedWindow: { limit: 1, window: 1d } } }\n  - { name: watch, shadow: true, limit: { fixedWindow: { limit: 0, window: 1d } } }\n',
    });
    for (let i = 0; i < 3; i += 1) await post('/v1/check', { rule: 'one', key: 'secret-key' });
    await post('/v1/check', { rule: 'watch', key: 'secret-key' });
    await post('/v1/check', { rule: 'made-up', key: 'secret-key' });
    await post('/v1/peek', { rule: 'one', key: 'secret-key' });
    const { status, headers, text } = await get('/metrics');
    expect([status, headers['content-type']]).toEqual([200, expect.stringContaining('text/plain')]);
    expect(text).toContain('headgate_decisions_total{rule="one",outcome="allowed",source="store"} 1');
    expect(text).toContain('headgate_decisions_total{rule="one",outcome="refused",source="store"} 2');
    expect(text).toContain('headgate_decisions_total{rule="watch",outcome="shadow_refused",source="store"} 1');
    expect(text).toContain('headgate_degraded_total 0');
    expect(text).toContain('process_cpu_seconds_total');
    expect(text).not.toMatch(/secret-key|made-up/);
  });

  it('answers what is in flight before it ends, and takes nothing new', async () => {
    const { app, post, get } = await start();
    const answers = Array.from({ length: 20 }, () => post('/v1/check', { rule: 'search', key: 'k' }));
    await Promise.race(answers);
    const closed = app.close();
    const settled = await Promise.allSettled(answers);
    await closed;
    for (const answer of settled) if (answer.status === 'fulfilled') expect(answer.value.status).toBe(200);
    await expect(get('/healthz')).rejects.toThrow(/ECONNREFUSED/);
  });
});
