import { expect, it } from 'vitest';
import { describeBoth, type TestDatabase } from './support/databases.js';
import { ask, start, type Answer } from './support/service.js';

const perHour = { fixedWindow: { limit: 2, window: '1h' } };
const file = {
  version: 1,
  rules: [{ name: 'search', key: ['apiKey'], limit: perHour, plans: { pro: { unlimited: {} } } }],
};

/** The admin API over a database with one rule. */
async function serving(test: TestDatabase) {
  const database = test.open();
  await database.rules.importAll({ base: 0, author: 'test', reason: '', file });
  const { url, get } = await start({ flags: ['--database', test.url] });
  const send = (method: string, path: string, body?: unknown): Promise<Answer> =>
    ask(`${url}/admin/v1${path}`, {
      method,
      ...(body === undefined ? undefined : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
  return { database, send, metrics: async () => (await get('/metrics')).text };
}

describeBoth('what the admin API has stored of customers', (kind) => {
  it('is listed page by page, by what each page says is next', async () => {
    const { database, send } = await serving(await kind.fresh());
    const by = 'test';
    const customers = ['a', 'b "quoted"', 'c/d?', 'é', 'z'.repeat(512)];
    for (const customer of customers) {
      await database.plans.set({ customer, plan: 'pro', by });
      await database.overrides.set({ rule: 'search', customer, limit: perHour, by });
      await database.exemptions.set({ rule: 'search', kind: 'key', subject: customer, reason: '', by });
    }
    for (const [path, list, name] of [
      ['/customers', 'customers', 'customer'],
      ['/overrides', 'overrides', 'customer'],
      ['/exemptions', 'exemptions', 'subject'],
    ] as const) {
      const seen: string[] = [];
      let next: string | null = '';
      for (let pages = 0; next !== null && pages < 9; pages += 1) {
        const after: string = next === '' ? '' : `&after=${next}`;
        const { status, json } = await send('GET', `${path}?limit=2${after}`);
        expect(status).toBe(200);
        expect(json[list].length).toBeLessThanOrEqual(2);
        seen.push(...(json[list] as Record<string, string>[]).map((one) => one[name] ?? ''));
        next = json.next;
      }
      expect([path, [...seen].sort()]).toEqual([path, [...customers].sort()]);
      for (const wrong of ['a', 'e30', 'W10', Buffer.from('["a\\u0000","b","c"]').toString('base64url')])
        expect((await send('GET', `${path}?after=${wrong}`)).status, wrong).toBe(400);
    }
  });

  it('may be of a plan or rule that is not there, and then the answer tells', async () => {
    const { send } = await serving(await kind.fresh());
    expect(await send('PUT', '/customers/c/plan', { plan: 'pro' })).toMatchObject({ status: 200, json: { warnings: [] } });
    expect((await send('PUT', '/customers/c/plan', { plan: 'por' })).json.warnings).toEqual([
      'no rule has limits for the plan "por" (under "plans"): customers who have it get each rule\'s own limit',
    ]);
    expect((await send('PUT', '/overrides/search/c', { limit: perHour })).json.warnings).toEqual([]);
    expect((await send('PUT', '/overrides/serach/c', { limit: perHour })).json.warnings).toEqual([
      'there is no rule "serach": overrides of it have no effect until there is one',
    ]);
    expect((await send('PUT', '/overrides/serach/c', { limit: { fixedWindow: { limit: 1 } } })).status).toBe(400);
  });

  it('is no reload of the rules', async () => {
    const { send, metrics } = await serving(await kind.fresh());
    await send('PUT', '/customers/c/plan', { plan: 'pro' });
    await expect.poll(metrics, { timeout: 5000 }).toContain('headgate_exceptions_reload_total 1');
    expect(await metrics()).toContain('headgate_rules_reload_total{result="ok"} 1');
    expect(await metrics()).toContain('headgate_rules_version 1');
  });

  it('is not asked for by text that no database keeps: 400 or 404, never an error of the database', async () => {
    const { send } = await serving(await kind.fresh());
    const nul = 'a%00b';
    const statuses: unknown[] = [];
    for (const [method, path, body] of [
      ['GET', `/customers/${nul}/plan`],
      ['PUT', `/customers/${nul}/plan`, { plan: 'pro' }],
      ['PUT', '/customers/c/plan', { plan: 'a\0b' }],
      ['DELETE', `/customers/${nul}/plan`],
      ['GET', `/overrides?rule=${nul}`],
      ['GET', `/overrides?customer=${nul}`],
      ['PUT', `/overrides/${nul}/c`, { limit: perHour }],
      ['PUT', `/overrides/search/${nul}`, { limit: perHour }],
      ['DELETE', `/overrides/search/${nul}`],
      ['DELETE', `/overrides/${nul}/c`],
      ['PUT', '/exemptions', { rule: 'search', kind: 'key', subject: 'a\0b' }],
      ['PUT', '/exemptions', { rule: 'search', kind: 'key', subject: 'a', reason: '\0' }],
      ['DELETE', `/exemptions?rule=search&kind=key&subject=${nul}`],
      ['PUT', `/shadows/${nul}`, { on: true }],
      ['DELETE', `/shadows/${nul}`],
      ['GET', `/rules/${nul}`],
      ['GET', `/versions?rule=${nul}`],
      ['GET', `/audit?who=${nul}`],
      ['POST', '/tokens', { name: 'a\0b', role: 'read' }],
      ['DELETE', `/tokens/${nul}`],
    ] as const) {
      const { status } = await send(method, path, body);
      if (status !== 400 && status !== 404) statuses.push([method, path, status]);
    }
    expect(statuses).toEqual([]);
    // A counter may have any key, and what is done to it is recorded.
    expect((await send('POST', `/keys/${nul}/reset`, { rule: 'search' })).status).toBe(204);
    expect((await send('GET', '/audit?limit=1')).json.entries).toMatchObject([{ what: 'key.reset', detail: { key: 'a\0b' } }]);
  });

  it('has one bound for names of tokens: what may be made may be revoked', async () => {
    const { database, send } = await serving(await kind.fresh());
    const name = 't'.repeat(200);
    await database.tokens.create({ name, role: 'edit', by: 'cli' });
    await database.tokens.revoke({ name, by: 'cli' });
    expect((await send('POST', '/tokens', { name: `${name}t`, role: 'read' })).status).toBe(400);
    expect((await send('DELETE', `/tokens/${name}`)).status).toBe(404);
    expect((await send('POST', '/tokens', { name, role: 'read' })).status).toBe(201);
  });
});
