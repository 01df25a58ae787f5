import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { RuleSet } from '../src/rules/compile.js';
import { compileStored } from '../src/rules/stored-set.js';
import { atOnce, inSlices } from '../src/rules/slices.js';
import { databaseSource, fileSource, type Notice, type RulesSource } from '../src/rules/source.js';
import { systemTiming } from '../src/rules/timing.js';
import { describeBoth } from './support/databases.js';
import { later, rulesFile, temporary } from './support/service.js';

const perHour = (limit: number) => ({ limit: { fixedWindow: { limit, window: '1h' } } });
const shared = { key: ['*'], ...perHour(9) };
const by = (base: number) => ({ base, author: 'ann', reason: '' });
const soon = { timeout: 15_000, interval: 10 };

interface Told extends Notice {
  readonly rules: RuleSet;
}

function watched(source: RulesSource): { told: Told[]; troubles: string[] } {
  const [told, troubles]: [Told[], string[]] = [[], []];
  later(
    source.watch({
      onRules: ({ rules }, notice) => told.push({ rules, ...notice }),
      onFault: (error) => troubles.push(error.message),
      onTrouble: (message) => troubles.push(message),
    }),
  );
  return { told, troubles };
}

describeBoth('what is told of a change', (kind) => {
  it('is whether the rules changed or what differs from them, and each warning when it is new', async () => {
    const database = (await kind.fresh()).open();
    await database.rules.change({ ...by(0), put: { one: perHour(1), shared } });
    const source = await databaseSource({ database, cache: undefined });
    expect(source.rules.warnings).toEqual([expect.stringContaining('rule "shared": its key is a constant')]);
    const { told } = watched(source);
    const what = () => told.map(({ changed, warnings, faults }) => [changed, warnings, faults]);
    await database.plans.set({ customer: 'c', plan: 'gold', by: 'ann' });
    await expect.poll(what, soon).toEqual([['exceptions', [expect.stringContaining('no rule has limits for the plan "gold"')], []]]);
    await database.rules.change({ ...by(1), put: { one: perHour(2) } });
    await expect.poll(() => what().slice(1), soon).toEqual([['rules', [], []]]);
    await database.rules.change({ ...by(2), put: { two: shared } });
    await expect.poll(() => what().slice(2), soon).toEqual([['rules', [expect.stringContaining('rule "two"')], []]]);
    await database.overrides.set({ rule: 'none', customer: 'c', limit: { unlimited: {} }, by: 'ann' });
    await expect.poll(() => what().slice(3), soon).toEqual([['exceptions', [expect.stringContaining('there is no rule "none"')], []]]);
  });

  it('concerns what changed: all other rules are those that were there, for the library too', async () => {
    const database = (await kind.fresh()).open();
    await database.rules.change({ ...by(0), put: { a: perHour(1), b: perHour(1), c: perHour(1) } });
    await database.overrides.set({ rule: 'b', customer: 'k', limit: { unlimited: {} }, by: 'ann' });
    const source = await databaseSource({ database, cache: undefined });
    const { told } = watched(source);
    const kept = (from: RuleSet, to: RuleSet | undefined) =>
      ['a', 'b', 'c'].filter((name) => to !== undefined && from.options[name] === to.options[name]);
    await database.rules.change({ ...by(1), put: { a: perHour(2) } });
    await expect.poll(() => kept(source.rules.rules, told[0]?.rules), soon).toEqual(['b', 'c']);
    await database.overrides.set({ rule: 'c', customer: 'k', limit: { unlimited: {} }, by: 'ann' });
    await expect.poll(() => told.length, soon).toBe(2);
    expect(kept(told[0]?.rules as RuleSet, told[1]?.rules)).toEqual(['a', 'b']);
    expect(Object.isFrozen(told[1]?.rules.options['c'])).toBe(true);
  });

  it('is beside the state of the source: version, where it is from, how old, and whether it can be reached', async () => {
    const test = await kind.fresh();
    const clock = { now: Date.now() };
    const timing = { ...systemTiming, now: () => clock.now };
    const cache = temporary();
    const open = () => test.open({ mayCreate: !existsSync(join(cache, 'rules.copy')) });
    const database = open();
    await database.rules.change({ ...by(0), put: { a: perHour(1) } });
    const source = await databaseSource({ database, cache, timing });
    expect(source.state()).toEqual({ version: 1, from: 'database', ageMs: 0, reachable: true });
    watched(source);
    await expect.poll(() => existsSync(join(cache, 'rules.copy')), soon).toBe(true);
    await test.goAway();
    await expect.poll(() => source.state().reachable, soon).toBe(false);
    clock.now += 60_000;
    expect(source.state()).toMatchObject({ version: 1, from: 'database', ageMs: 60_000 });
    const restarted = await databaseSource({ database: open(), cache, timing });
    expect(restarted.state()).toMatchObject({ version: 1, from: 'disk', reachable: false });
    expect(restarted.state().ageMs).toBeGreaterThan(50_000);
    watched(restarted);
    await test.comeBack();
    await expect.poll(() => restarted.state(), soon).toEqual({ version: 1, from: 'database', ageMs: 0, reachable: true });
  });
});

describe('the state of a rules file', () => {
  it('tells whether it can be read, and how long ago it said what is in force', async () => {
    const clock = { now: 1_000_000 };
    const file = rulesFile('version: 1\nrules: [{ name: a, limit: { unlimited: {} } }]\n');
    const source = await fileSource(file, { ...systemTiming, now: () => clock.now });
    const { troubles } = watched(source);
    expect(source.state()).toEqual({ version: undefined, from: 'file', ageMs: 0, reachable: true });
    writeFileSync(file, 'version: 2\n');
    await expect.poll(() => troubles.length, soon).toBe(1);
    clock.now += 5000;
    await expect.poll(() => source.state(), soon).toMatchObject({ ageMs: 5000, reachable: true });
    writeFileSync(file, 'version: 1\nrules: [{ name: b, limit: { unlimited: {} } }]\n');
    await expect.poll(() => source.state().ageMs, soon).toBe(0);
  });
});

describe('much work', () => {
  const parts = {
    rules: new Map(Array.from({ length: 3000 }, (_, n) => [`r${n}`, { key: ['ip'], match: { path: `/${n}` }, ...perHour(n) }])),
    blocks: new Map(),
  };

  it('gives the event loop back in between', async () => {
    let turns = 0;
    let isDone = false;
    const work = inSlices(compileStored(parts, { from: 'test' })).finally(() => (isDone = true));
    for (; !isDone; turns += 1) await turn();
    expect((await work).rules.size).toBe(3000);
    expect(turns).toBeGreaterThan(5);
  });

  it('is done again only for rules that say something else, and finds the same rules', () => {
    const first = atOnce(compileStored(parts, { from: 'test' }));
    const changed = new Map(parts.rules).set('r7', { key: ['ip'], match: { path: '/seven' }, ...perHour(1) });
    changed.delete('r8');
    const second = atOnce(compileStored({ ...parts, rules: changed }, { from: 'test', known: first.compiled }));
    const remade = [...second.rules].filter(([name, rule]) => first.rules.get(name) !== rule).map(([name]) => name);
    expect(remade).toEqual(['r7']);
    const found = (target: string) =>
      second.matcher.match({ lines: [{ method: 'GET', target }], hosts: [], headers: {}, plan: undefined }).map(({ name }) => name);
    expect(['/seven', '/7', '/8', '/9'].map(found)).toEqual([['r7'], [], [], ['r9']]);
  });

  it('of rules with faults tells them as ever', () => {
    const first = atOnce(compileStored(parts, { from: 'test' }));
    const rules = new Map(parts.rules).set('r7', { key: ['ip'], match: { path: '/a/*/b' }, ...perHour(1) });
    expect(() => atOnce(compileStored({ ...parts, rules }, { from: 'test', known: first.compiled }))).toThrow(
      /^test: rule "r7": .*"\*" stands only at the end/,
    );
  });
});
