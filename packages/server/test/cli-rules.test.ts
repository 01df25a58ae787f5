import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadRules } from '../src/rules/load.js';
import { headgate, ran, urlOf } from './support/command.js';
import { ask, rulesFile, temporary } from './support/service.js';

const text = (limit: number): string => `version: 1
rules:
  - { name: search, key: [apiKey], limit: { fixedWindow: { limit: ${limit}, window: 1h } } }
  - { name: login, key: [account], limit: { fixedWindow: { limit: 5, window: 1m } } }
`;

const run = (...args: string[]) => ran(args);

const fresh = (): string => `sqlite:${join(temporary(), 'rules.db')}`;

describe('headgate rules', () => {
  it.each(['costly-endpoint', 'login', 'otp', 'public-api'])('recipe %s prints rules that can be used as they are', async (name) => {
    expect((await run('rules', 'recipe')).out.split('\n')).toContain(name);
    const { code, out } = await run('rules', 'recipe', name);
    expect(code).toBe(0);
    expect(loadRules(name, out).rules.size).toBeGreaterThan(0);
  });

  it('validate tells every fault with its line, and the number of rules if there is none', async () => {
    const good = rulesFile(text(5));
    expect(await run('rules', 'validate', good)).toMatchObject({ code: 0, out: `${good}: 2 rules, no faults\n` });
    const bad = rulesFile(text(5).replace('fixedWindow: { limit: 5, window: 1m }', 'fixedWindow: { limit: -5, window: 1x }'));
    const { code, err } = await run('rules', 'validate', bad);
    expect(code).toBe(78);
    expect(err.match(new RegExp(`${bad}:4: rule "login"`, 'g'))).toHaveLength(2);
    expect(await run('rules', 'validate', bad, '--json')).toMatchObject({
      ...{ code: 78, err: '' },
      json: { file: bad, valid: false, faults: [{ file: bad, line: 4, rule: '"login"' }, { line: 4 }] },
    });
    expect((await run('rules', 'validate', good, '--json')).json).toEqual({ file: good, valid: true, rules: 2, warnings: [], faults: [] });
    expect(await ran(['rules', 'validate', '-'], {}, text(5))).toMatchObject({ code: 0, out: '-: 2 rules, no faults\n' });
  });

  it('import moves a file over; history, diff and rollback tell and undo it', async () => {
    const database = fresh();
    const of = (...args: string[]) => run('rules', ...args, '--database', database);
    const byAnn = (...args: string[]) => of(...args, '--author', 'ann');
    expect(await byAnn('import', rulesFile(text(5)))).toMatchObject({ code: 0, out: 'version 1: 2 entries differ from 0\n' });
    const same = rulesFile(text(5));
    expect((await of('import', same)).out).toBe('nothing differs from version 1\n');
    const { code } = headgate(['rules', 'import', rulesFile(text(9)), '--database', database, '--author', 'bob', '--reason', 'too strict']);
    expect(await code).toBe(0);
    expect((await of('history')).out).toMatch(/^ +2 .* bob +changed rule "search" +too strict\n +1 .* ann +added rule/m);
    expect((await of('history', '--json', '--limit', '1')).json).toMatchObject({
      versions: [{ number: 2, author: 'bob', reason: 'too strict', at: expect.stringMatching(/^\d{4}-.*Z$/) as string }],
    });
    expect((await of('diff', '1', '2')).out).toBe(
      'rule "search" changed\n  - limit: {"fixedWindow":{"limit":5,"window":"1h"}}\n  + limit: {"fixedWindow":{"limit":9,"window":"1h"}}\n',
    );
    expect((await of('diff', '0', '1')).out).toMatch(/^rule "login" added\n {2}\+ key: \["account"\]\n/);
    expect((await of('diff', '1', '2', '--json')).json).toMatchObject({ from: 1, to: 2, differences: [{ kind: 'rule', name: 'search' }] });
    expect(await byAnn('rollback', '1')).toMatchObject({ code: 0, out: 'version 3: as it was at 1\n' });
    expect((await of('diff', '1', '3')).out).toBe('');
    expect(await of('diff', '1', 'x')).toMatchObject({ code: 78, err: expect.stringContaining('got "x"') as string });
    expect(await of('rollback', '77')).toMatchObject({ code: 78, err: expect.stringContaining('no version 77') as string });
  });

  it('list tells the rules of a file, the database and a service, as they are or were, with switches', async () => {
    const database = fresh();
    const file = rulesFile(text(5));
    expect((await run('rules', 'list', file)).out).toMatch(
      /^RULE +LIMIT +KEY.*\nlogin +fixedWindow limit 5, window 1m +account +in force\nsearch +fixedWindow limit 5, window 1h +apiKey +in force\n$/,
    );
    await run('rules', 'import', file, '--database', database, '--author', 'ann');
    await run('rules', 'import', rulesFile(text(9)), '--database', database, '--author', 'bob');
    await run('rules', 'shadow', 'search', '--database', database);
    const listed = await run('rules', 'list', '--database', database);
    expect(listed.out).toMatch(/^search .*limit 9.* only observes \(switched\)\n\nversion 2, by bob at \d{4}-/m);
    expect((await run('rules', 'list', '--version', '1', '--database', database)).out).toMatch(
      /limit 5, window 1h.* in force\n\nversion 1, by ann/,
    );
    const url = await urlOf(headgate(['serve', '--http-port', '0', '--database', database], { HEADGATE_DEADLINE: '2s' }));
    const served = await run('rules', 'list', '--url', url);
    expect(served.out).toBe(listed.out);
    expect((await run('rules', 'list', '--url', url, '--json')).json).toMatchObject({
      ...{ version: 2, blocks: {}, shadows: [{ rule: 'search', on: true }] },
      rules: { search: { limit: { fixedWindow: { limit: 9 } } } },
    });
    expect(await run('rules', 'list', '--url', url, '--version', '7')).toMatchObject({
      code: 65,
      err: expect.stringContaining('no version 7') as string,
    });
    const byFile = await urlOf(headgate(['serve', '--http-port', '0', '--rules', file]));
    expect(await run('rules', 'list', '--url', byFile)).toMatchObject({ code: 65, err: expect.stringContaining('in a file') as string });
    expect(await run('rules', 'list', '--database', fresh())).toMatchObject({
      code: 0,
      out: expect.stringContaining('there are no rules') as string,
    });
    expect(await run('rules', 'list', file, '--version', '1')).toMatchObject({ code: 78 });
  });

  it('export writes what import and serve take back, the same for the same rules, with its version', async () => {
    const database = fresh();
    const odd = `version: 1
identify: { trustProxies: [10.0.0.0/8], ipv6Prefix: 56 }
rules:
  - name: "yes: no # 1"
    match: { path: /a/*, host: ["*.example.com"], header: { x-b: "*", x-a: [on, "007"] } }
    key: ["*", "cookie:a"]
    limit: { tokenBucket: { refill: 2/s, capacity: 20 } }
    plans: { "null": { unlimited: {} }, "1.5": { quota: { limit: 1, period: month, timeZone: Europe/Berlin, billingDay: 31 } } }
    shadow: true
  - { name: a, mode: { sync: 50 }, key: [ip], limit: { fixedWindow: { limit: 5, window: 1500 } }, whenUnavailable: refuse }
`;
    const reason = 'line one\nrules: []';
    expect(await run('rules', 'import', rulesFile(odd), '--database', database, '--author', 'ann', '--reason', reason)).toMatchObject({
      code: 0,
    });
    const { out } = await run('rules', 'export', '--database', database);
    expect(out).toMatch(/^# Rules of Headgate, version 1, by "ann" at .*Z: "line one\\nrules: \[\]"\.\n# headgate rules import/);
    expect(await run('rules', 'import', rulesFile(out), '--database', database)).toMatchObject({ out: 'nothing differs from version 1\n' });
    const body = (yaml: string): string => yaml.replaceAll(/^#.*\n/gm, '');
    expect(body((await run('rules', 'export', rulesFile(out))).out)).toBe(body(out));
    expect(body((await ran(['rules', 'export', '-'], {}, odd)).out)).toBe(body(out));
    const url = await urlOf(headgate(['serve', '--http-port', '0', '--rules', rulesFile(out)]));
    expect((await run('check', 'a', 'k', '--url', url)).code).toBe(0);
    const recipe = (await run('rules', 'recipe', 'login')).out;
    expect(loadRules('recipe', (await ran(['rules', 'export', '-'], {}, recipe)).out).options).toEqual(loadRules('recipe', recipe).options);
  });

  it('refuses what is no verb, though every object has it, and a shadow of one rule and of all', async () => {
    const { code, err } = await run('rules', 'constructor', '--database', fresh());
    expect({ code, err }).toMatchObject({ code: 64, err: expect.stringContaining('unknown command "rules constructor"') as string });
    expect(await run('constructor')).toMatchObject({ code: 64, err: expect.stringContaining('unknown command') as string });
    const both = await run('rules', 'shadow', 'search', '--all', '--database', fresh());
    expect(both).toMatchObject({ code: 78, err: 'a rule or --all, not both\n' });
    const flags = await run('rules', 'shadow', 'search', '--off', '--clear', '--database', fresh());
    expect(flags).toMatchObject({ code: 78, err: '--off or --clear, not both\n' });
  });

  it('shadow takes a rule out of force on a server that runs, and back', async () => {
    const database = fresh();
    await run('rules', 'import', rulesFile(text(0)), '--database', database);
    const server = headgate(['serve', '--http-port', '0', '--database', database], { HEADGATE_DEADLINE: '2s' });
    const url = await urlOf(server);
    const allowed = async (): Promise<boolean> =>
      (
        await ask(`${url}/v1/check`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"rule":"search","key":"k"}',
        })
      ).json.allowed as boolean;
    expect(await allowed()).toBe(false);
    expect((await run('rules', 'shadow', 'search', '--database', database)).out).toBe('rule "search": only observing\n');
    await expect.poll(allowed, { timeout: 5000 }).toBe(true);
    expect((await run('rules', 'shadow', 'search', '--clear', '--database', database)).code).toBe(0);
    await expect.poll(allowed, { timeout: 5000 }).toBe(false);
    expect((await run('rules', 'shadow', '--all', '--database', database)).out).toBe('all rules: only observing\n');
    await expect.poll(allowed, { timeout: 5000 }).toBe(true);
  });

  it('says what is wrong with its arguments, and where a database cannot be used', async () => {
    expect(await run('rules', 'import')).toMatchObject({
      code: 78,
      err: expect.stringContaining('expected FILE beside the flags') as string,
    });
    expect(await run('rules', 'recipe', '../sample')).toMatchObject({
      code: 78,
      err: expect.stringContaining('there are costly-endpoint') as string,
    });
    expect(await run('rules', 'frobnicate')).toMatchObject({ code: 64 });
    const away = await run('rules', 'history', '--database', 'postgres://ann:hunter2@127.0.0.1:1/x');
    expect(away).toMatchObject({ code: 1, out: '' });
    expect(away.err).not.toContain('hunter2');
  });
});

describe('headgate token', () => {
  it('makes a token that the admin API takes until it is revoked; it is shown once', async () => {
    const database = fresh();
    await run('rules', 'import', rulesFile(text(5)), '--database', database);
    const { out } = await run('token', 'create', 'ci', '--role', 'read', '--database', database);
    const token = out.trim();
    const list = await run('token', 'list', '--database', database);
    expect(list.out).toMatch(/^ci +read .*holds$/m);
    expect((await run('token', 'list', '--database', database, '--json')).json).toMatchObject({ tokens: [{ name: 'ci', role: 'read' }] });
    const made = await run('token', 'create', 'ops', '--role', 'operate', '--database', database, '--json');
    expect(made.json).toMatchObject({ name: 'ops', role: 'operate', token: expect.stringMatching(/^headgate_/) as string });
    expect(list.out).not.toContain(token);
    const url = await urlOf(headgate(['serve', '--http-port', '0', '--database', database]));
    const status = async (): Promise<number> =>
      (await ask(`${url}/admin/v1/rules`, { headers: { authorization: `Bearer ${token}` } })).status;
    expect(await status()).toBe(200);
    expect((await run('token', 'revoke', 'ci', '--database', database)).code).toBe(0);
    await expect.poll(status, { timeout: 10_000 }).toBe(401);
    expect(await run('token', 'create', 'x', '--role', 'admin', '--database', database)).toMatchObject({ code: 78 });
  });
});
