import { expect, it } from 'vitest';
import { InputError } from '../src/rules/inputs.js';
import type { Timing } from '../src/rules/timing.js';
import { systemTiming } from '../src/rules/timing.js';
import { openExceptions } from '../src/rules/exceptions-source.js';
import { startSweeping } from '../src/database/sweeping.js';
import { describeBoth, type Kind } from './support/databases.js';
import { later } from './support/service.js';

const minute = { limit: { fixedWindow: { limit: 5, window: '1m' } } };
const by = 'ann';

/** A wall clock that is set by hand. */
function handTiming(start = 1_000_000): Timing & { set(now: number): void } {
  let now = start;
  return { ...systemTiming, now: () => now, set: (to) => void (now = to) };
}

async function start({ fresh }: Kind) {
  const timing = handTiming();
  const test = await fresh();
  const database = test.open({ timing });
  await database.rules.change({
    base: 0,
    author: by,
    reason: '',
    put: { search: minute, login: { ...minute, match: { plan: 'pro' }, key: ['ip'] } },
    blocks: { identify: { trustProxies: 1, plan: ['header:x-plan'] } },
  });
  return { ...test, database, timing };
}

describeBoth('what differs from the rules', (kind) => {
  it('is a plan of a customer, until it ends', async () => {
    const { database, timing } = await start(kind);
    const { plans, audit } = database;
    await plans.set({ customer: 'c1', plan: 'pro', by });
    await plans.set({ customer: 'c2', plan: 'trial', until: 2_000_000, by });
    expect(await plans.of('c1')).toEqual({ customer: 'c1', plan: 'pro', until: null, by, at: 1_000_000 });
    expect(await plans.of('c2')).toMatchObject({ plan: 'trial', until: 2_000_000 });
    expect(await plans.of('none')).toBeUndefined();
    timing.set(1_999_999);
    expect((await plans.list({ limit: 10 })).map(({ customer }) => customer)).toEqual(['c1', 'c2']);
    timing.set(2_000_000);
    expect([await plans.of('c2'), (await plans.list({ limit: 10 })).length]).toEqual([undefined, 1]);
    await plans.set({ customer: 'c1', plan: 'free', by: 'bob' });
    expect(await plans.of('c1')).toMatchObject({ plan: 'free', by: 'bob', at: 2_000_000 });
    expect([await plans.remove({ customer: 'c1', by }), await plans.remove({ customer: 'c1', by })]).toEqual([true, false]);
    expect(await plans.of('c1')).toBeUndefined();
    expect((await audit.list({ limit: 10 })).map(({ who, what }) => `${who} ${what}`)).toEqual([
      'ann plan.remove',
      'bob plan.set',
      'ann plan.set',
      'ann plan.set',
      'ann rules.change',
    ]);
  });

  it('is told by pages', async () => {
    const { plans, overrides } = (await start(kind)).database;
    const customers = Array.from({ length: 25 }, (_, index) => `c${String(index).padStart(2, '0')}`);
    for (const customer of customers) await plans.set({ customer, plan: 'pro', by });
    const told: string[] = [];
    for (let after: string | undefined; ; after = told.at(-1)) {
      const page = await plans.list({ limit: 10, ...(after !== undefined && { after }) });
      if (page.length === 0) break;
      told.push(...page.map(({ customer }) => customer));
    }
    expect(told).toEqual(customers);
    for (const rule of ['search', 'login'])
      for (const customer of ['x', 'y', 'z']) await overrides.set({ rule, customer, limit: { unlimited: {} }, by });
    const names = async (page: Parameters<typeof overrides.list>[0]) =>
      (await overrides.list(page)).map(({ rule, customer }) => `${rule} ${customer}`);
    expect(await names({ limit: 2 })).toEqual(['login x', 'login y']);
    expect(await names({ limit: 3, after: { rule: 'login', customer: 'y' } })).toEqual(['login z', 'search x', 'search y']);
    expect(await names({ limit: 9, customer: 'z' })).toEqual(['login z', 'search z']);
    expect(await names({ limit: 9, rule: 'search', after: { rule: 'search', customer: 'y' } })).toEqual(['search z']);
  });

  it('is another limit of a rule for one customer, which the rule must be able to have', async () => {
    const { database, timing } = await start(kind);
    const { overrides } = database;
    const limit = { tokenBucket: { capacity: 50, refill: '5/s' } };
    await overrides.set({ rule: 'login', customer: 'c', limit, until: 3_000_000, by });
    expect(await overrides.list({ limit: 9 })).toEqual([{ rule: 'login', customer: 'c', limit, until: 3_000_000, by, at: 1_000_000 }]);
    const set = (wrong: object) => overrides.set({ rule: 'search', customer: 'c', limit, by, ...wrong });
    await expect(set({ rule: 'serach', limit: { tokenBucket: {} } })).rejects.toThrow(/override: rule "serach": .*capacity: is missing/);
    // The rule may come later; whoever sets it is told (see admin-customers.test.ts).
    await set({ rule: 'later' });
    expect(await overrides.remove({ rule: 'later', customer: 'c', by })).toBe(true);
    await expect(set({ limit: { tokenBucket: { capacity: 5 } } })).rejects.toThrow(
      /override: rule "search": limit.tokenBucket.refill: is missing/,
    );
    await expect(set({ limit: undefined })).rejects.toThrow(/limit: expected a limit as a rules file says it/);
    await expect(set({ until: 999_999 })).rejects.toThrow(/until: 1970-01-01T00:16:39.999Z is over/);
    await expect(set({ until: 1.5 })).rejects.toThrow(/until: expected a whole number/);
    await expect(set({ customer: '' })).rejects.toThrow(InputError);
    await expect(set({ customer: 'x'.repeat(513) })).rejects.toThrow(/customer: expected 1 to 512 characters/);
    await expect(set({ by: '' })).rejects.toThrow(/by: expected 1 to 200 characters/);
    expect(await overrides.list({ limit: 9, rule: 'search' })).toEqual([]);
    timing.set(3_000_000);
    expect(await overrides.list({ limit: 9 })).toEqual([]);
    expect(await overrides.remove({ rule: 'login', customer: 'c', by })).toBe(true);
  });

  it('is an exemption of a key or of addresses, from one rule or all', async () => {
    const { database, timing } = await start(kind);
    const { exemptions } = database;
    await exemptions.set({ rule: '*', kind: 'cidr', subject: '10.0.0.0/8', reason: 'our own', by });
    await exemptions.set({ rule: 'search', kind: 'key', subject: 'c9', reason: '', until: 2_000_000, by });
    expect((await exemptions.list({ limit: 9 })).map(({ rule, kind: of, subject, until }) => [rule, of, subject, until])).toEqual([
      ['*', 'cidr', '10.0.0.0/8', null],
      ['search', 'key', 'c9', 2_000_000],
    ]);
    timing.set(2_000_000);
    expect(await exemptions.list({ limit: 9 })).toHaveLength(1);
    const set = (wrong: object) => exemptions.set({ rule: '*', kind: 'cidr', subject: '10.0.0.0/8', reason: '', by, ...wrong });
    for (const subject of ['10.0.0.0/33', 'host', '10.0.0/8', '::1/129'])
      await expect(set({ subject })).rejects.toThrow(/subject: expected addresses such as/);
    await expect(set({ kind: 'name' })).rejects.toThrow(/kind: expected one of key, cidr; got "name"/);
    await expect(set({ rule: 'none' })).rejects.toThrow(/there is no rule "none"/);
    expect(await exemptions.remove({ rule: '*', kind: 'cidr', subject: '10.0.0.0/8', by })).toBe(true);
    expect(await exemptions.remove({ rule: '*', kind: 'cidr', subject: '10.0.0.0/8', by })).toBe(false);
  });

  it('is a switch by which rules only observe', async () => {
    const { shadows } = (await start(kind)).database;
    await shadows.set({ rule: '*', on: true, by });
    await shadows.set({ rule: 'login', on: true, by });
    await shadows.set({ rule: 'login', on: false, by: 'bob' });
    expect(await shadows.list()).toEqual([
      { rule: '*', on: true, by, at: 1_000_000 },
      { rule: 'login', on: false, by: 'bob', at: 1_000_000 },
    ]);
    expect([await shadows.remove({ rule: '*', by }), await shadows.remove({ rule: '*', by })]).toEqual([true, false]);
    await expect(shadows.set({ rule: 'none', on: true, by })).rejects.toThrow(/there is no rule/);
    // A boolean would end the process in the driver.
    await expect(shadows.set({ rule: 'login', on: 1 as never, by })).rejects.toThrow(/on: expected true or false/);
  });

  it('is known to every server within two seconds, with all that has not ended', async () => {
    const { database, open } = await start(kind);
    const other = open();
    const copy = await openExceptions(other.exceptions, { changes: other.changes, timing: systemTiming, disk: undefined });
    expect(copy.value).toEqual({ plans: [], overrides: [], exemptions: [], shadows: [] });
    let seen = copy.value;
    later(copy.watch({ onValue: (value) => (seen = value), onFault: () => undefined }));
    await database.plans.set({ customer: 'c1', plan: 'pro', by });
    await database.shadows.set({ rule: 'login', on: true, by });
    await database.overrides.set({ rule: 'search', customer: 'c', limit: { unlimited: {} }, by });
    await database.exemptions.set({ rule: '*', kind: 'key', subject: 'k', reason: '', by });
    const sizes = () => [seen.plans.length, seen.overrides.length, seen.exemptions.length, seen.shadows.length];
    await expect.poll(sizes, { timeout: 2000, interval: 10 }).toEqual([1, 1, 1, 1]);
    expect(seen.overrides[0]).toMatchObject({ rule: 'search', customer: 'c', limit: { unlimited: {} } });
    await database.plans.remove({ customer: 'c1', by });
    await expect.poll(sizes, { timeout: 2000, interval: 10 }).toEqual([0, 1, 1, 1]);
  });

  it('is removed when it has ended, some at a time', async () => {
    const { database, timing, byHand, table } = await start(kind);
    const { plans, overrides, exemptions, checkpoints } = database;
    for (let index = 0; index < 12; index += 1) await plans.set({ customer: `c${index}`, plan: 'trial', by, until: 2_000_000 + index });
    await plans.set({ customer: 'stays', plan: 'pro', by });
    await overrides.set({ rule: 'search', customer: 'c', limit: { unlimited: {} }, until: 2_000_000, by });
    await exemptions.set({ rule: '*', kind: 'key', subject: 'k', reason: '', until: 2_000_000, by });
    await checkpoints.save([{ rule: 'search', key: 'k', periodEnd: 2_000_000, used: 1, takenAt: 1 }]);
    expect(await database.sweep(5)).toBe(0);
    timing.set(2_000_009);
    expect([await database.sweep(5), await database.sweep(5), await database.sweep(5)]).toEqual([5 + 3, 5, 0]);
    expect((await byHand(`select customer from ${table('plans')} order by customer`)).map(({ customer }) => customer)).toEqual([
      'c10',
      'c11',
      'stays',
    ]);
    // And so it is done by itself.
    const timers: (() => void)[] = [];
    await plans.set({ customer: 'last', plan: 'trial', by, until: 2_000_020 });
    timing.set(2_000_020);
    later(startSweeping(database, { ...timing, after: (_, callback) => (timers.push(callback), () => undefined) }));
    timers.shift()?.();
    await expect.poll(async () => (await byHand(`select customer from ${table('plans')}`)).length).toBe(1);
    await expect.poll(() => timers.length).toBe(1);
    await expect(database.sweep(0)).rejects.toThrow(/limit: expected a whole number from 1 to 10000/);
  });
});

describeBoth('tokens', (kind) => {
  it('are shown once, stored as a hash, and hold until they are revoked', async () => {
    const { database, byHand, table } = await start(kind);
    const { tokens, audit } = database;
    const { token, info } = await tokens.create({ name: 'ci', role: 'edit', by });
    expect(token).toMatch(/^headgate_[\w-]{43}$/);
    expect(info).toEqual({ name: 'ci', role: 'edit', created: 1_000_000, createdBy: by });
    expect(await tokens.verify(token)).toEqual(info);
    const stored = JSON.stringify([await byHand(`select * from ${table('tokens')}`), await byHand(`select * from ${table('audit')}`)]);
    expect(stored).not.toContain(token.slice('headgate_'.length));
    for (const wrong of ['', 'headgate_', `${token}x`, token.toLowerCase(), `headgate_${'a'.repeat(43)}`, "' or 1=1 --"])
      expect(await tokens.verify(wrong), wrong).toBeUndefined();
    await expect(tokens.create({ name: 'ci', role: 'read', by })).rejects.toThrow(/name: a token is called "ci" already; revoke it first/);
    expect(await tokens.hasAny()).toBe(true);
    expect([await tokens.revoke({ name: 'ci', by }), await tokens.revoke({ name: 'ci', by })]).toEqual([true, false]);
    expect(await tokens.hasAny()).toBe(false);
    expect(await tokens.verify(token)).toBeUndefined();
    const again = await tokens.create({ name: 'ci', role: 'read', by });
    expect(await tokens.verify(again.token)).toMatchObject({ role: 'read' });
    expect((await tokens.list()).map(({ name, role, revoked }) => [name, role, revoked]).sort()).toEqual([
      ['ci', 'edit', 1_000_000],
      ['ci', 'read', undefined],
    ]);
    expect((await audit.list({ limit: 3 })).map(({ what, detail }) => [what, detail])).toEqual([
      ['token.create', { name: 'ci', role: 'read' }],
      ['token.revoke', { name: 'ci' }],
      ['token.create', { name: 'ci', role: 'edit' }],
    ]);
    await expect(tokens.create({ name: 'x', role: 'admin' as never, by })).rejects.toThrow(
      /role: expected one of read, operate, edit; got "admin"/,
    );
  });
});

describeBoth('checkpoints of quotas', (kind) => {
  const at = (takenAt: number, used: number, key = 'k') => ({ rule: 'monthly', key, periodEnd: 5_000_000, used, takenAt });

  it('are those taken last, of periods that have not ended', async () => {
    const { database, timing } = await start(kind);
    const { checkpoints } = database;
    await checkpoints.save([at(10, 5), at(20, 9), at(15, 7), at(10, 1, 'other')]);
    await checkpoints.save([at(12, 16), at(11, 2, 'other')]);
    expect(await checkpoints.list({ limit: 10 })).toEqual([at(20, 9), at(11, 2, 'other')]);
    const asked = [at(0, 0, 'other'), at(0, 0, 'none'), at(0, 0), { ...at(0, 0), rule: 'daily' }, { ...at(0, 0), periodEnd: 4_000_000 }];
    expect(await checkpoints.find(asked)).toEqual([at(11, 2, 'other'), undefined, at(20, 9), undefined, undefined]);
    expect(await checkpoints.find([])).toEqual([]);
    timing.set(5_000_000);
    expect(await checkpoints.list({ limit: 10 })).toEqual([]);
    await checkpoints.save([]);
    await expect(checkpoints.save([at(30, 1), at(30, 0.5)])).rejects.toThrow(/used: expected a whole number/);
  });

  it('never fall, unless units came back', async () => {
    const { checkpoints } = (await start(kind)).database;
    const save = (...all: Parameters<typeof checkpoints.save>[0]) =>
      checkpoints.save(all).then(async () => (await checkpoints.find([at(0, 0)]))[0]);
    await save(at(10, 9));
    expect(await save(at(11, 4))).toEqual(at(11, 9));
    expect(await save({ ...at(10, 4), lowered: true })).toEqual(at(11, 9));
    expect(await save({ ...at(12, 4), lowered: true })).toEqual(at(12, 4));
    expect(await save(at(12, 6))).toEqual(at(12, 6));
  });

  it('are of any key that a rule may have', async () => {
    const { checkpoints } = (await start(kind)).database;
    const keys = ['x'.repeat(513), 'y'.repeat(60_000), 'nul\0', '#sha256:', "'; --", '😀'.repeat(256)];
    await checkpoints.save(keys.map((key, index) => at(10, index, key)));
    expect(await checkpoints.find(keys.map((key) => at(0, 0, key)))).toEqual(keys.map((key, index) => at(10, index, key)));
    expect(await checkpoints.list({ limit: 10 })).toHaveLength(keys.length);
  });

  it('are saved by thousands, by several servers at once, and told by pages', async () => {
    const { database, open } = await start(kind);
    const keys = Array.from({ length: 3000 }, (_, index) => `key ${String(index).padStart(4, '0')}`);
    const servers = [database, open(), open()];
    await Promise.all(
      servers.map(({ checkpoints }, index) => checkpoints.save((index % 2 ? keys.toReversed() : keys).map((key) => at(index, index, key)))),
    );
    expect(await database.checkpoints.find(keys.map((key) => at(0, 0, key)))).toEqual(keys.map((key) => at(2, 2, key)));
    const told: string[] = [];
    let after;
    for (;;) {
      const page = await database.checkpoints.list({ limit: 1000, ...(after && { after }) });
      if (page.length === 0) break;
      expect(page.every(({ used }) => used === 2)).toBe(true);
      told.push(...page.map(({ key }) => key));
      after = page.at(-1);
    }
    expect(told).toEqual(keys);
  });
});
