import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { RuleSet } from '../src/rules/compile.js';
import { openRulesDatabase, type RulesDatabaseSource } from '../src/rules/database-source.js';
import { diskCopy } from '../src/rules/disk-copy.js';
import type { RulesError } from '../src/rules/faults.js';
import { systemTiming } from '../src/rules/timing.js';
import { describeBoth, type TestDatabase } from './support/databases.js';
import { later, temporary } from './support/service.js';

const perHour = (limit: number) => ({ limit: { fixedWindow: { limit, window: '1h' } } });
const by = (base: number) => ({ base, author: 'ann', reason: '' });
const put = (limit: number) => ({ put: { a: perHour(limit) } });

const limitIn = (set: RuleSet | undefined): unknown => (set?.rules.get('a')?.options.limit as { limit?: number } | undefined)?.limit;

const inForceSoon = { timeout: 2000, interval: 10 };
const patient = { timeout: 15_000, interval: 20 };

const copyIn = (folder: string): string => join(folder, 'rules.copy');

interface Server {
  readonly source: RulesDatabaseSource;
  readonly sets: RuleSet[];
  readonly faults: RulesError[];
  /** `away: why`, `back`. */
  readonly reach: string[];
  readonly diskFaults: string[];
  stop(): void;
}

/** A server that uses the rules, with a copy on disk if a folder is given. */
async function serve({ open }: TestDatabase, folder?: string): Promise<Server> {
  const file = folder === undefined ? undefined : copyIn(folder);
  // A copy says that there was a database: where it is not, it is away, and not to be begun anew.
  const { rules, changes, shown } = open({ mayCreate: file === undefined || !existsSync(file) });
  const disk = file === undefined ? undefined : diskCopy({ file, kind: 'rules', source: shown });
  const source = await openRulesDatabase(rules, { changes, timing: systemTiming, disk });
  const seen = { sets: [] as RuleSet[], faults: [] as RulesError[], reach: [] as string[], diskFaults: [] as string[] };
  const stop = source.watch({
    onRules: (set) => seen.sets.push(set),
    onFault: (error) => seen.faults.push(error),
    onReach: (error) => seen.reach.push(error === undefined ? 'back' : `away: ${error.message}`),
    onDiskFault: (error) => seen.diskFaults.push(error.message),
  });
  later(stop);
  return { source, ...seen, stop };
}

/** What is in force; when it was confirmed has a test of its own. */
function stateOf({ state }: RulesDatabaseSource): unknown {
  const { version, from, isReachable } = state();
  return { version, from, isReachable };
}

const kept = (folder: string): string => (existsSync(copyIn(folder)) ? readFileSync(copyIn(folder), 'utf8') : '');

describeBoth('the rules of a database, on each server', (kind) => {
  it('are in force within two seconds of a change, however many servers there are', async () => {
    const test = await kind.fresh();
    const editor = test.open().rules;
    await editor.change({ ...by(0), ...put(1) });
    const servers = await Promise.all(Array.from({ length: 5 }, () => serve(test)));
    for (const { source } of servers)
      expect([limitIn(source.rules), stateOf(source)]).toEqual([1, { version: 1, from: 'database', isReachable: true }]);
    for (const version of [2, 3]) {
      await editor.change({ ...by(version - 1), ...put(version * 10) });
      await expect.poll(() => servers.map(({ sets }) => limitIn(sets.at(-1))), inForceSoon).toEqual(servers.map(() => version * 10));
    }
    expect(servers.map(({ source }) => source.state().version)).toEqual(servers.map(() => 3));
    expect(servers.flatMap(({ faults, reach }) => [...faults, ...reach])).toEqual([]);
  });

  it('are in force once for each change, and not again when something else is written', async () => {
    const test = await kind.fresh();
    const database = test.open();
    await database.rules.change({ ...by(0), ...put(1) });
    const { sets } = await serve(test);
    await database.rules.change({ ...by(1), ...put(2) });
    await expect.poll(() => sets.map(limitIn), inForceSoon).toEqual([2]);
    await database.plans.set({ customer: 'c', plan: 'pro', by: 'ann' });
    await sleep(1200);
    expect(sets).toHaveLength(1);
  });

  it('that change all the time are followed without falling behind', async () => {
    const test = await kind.fresh();
    const editor = test.open().rules;
    await editor.change({ ...by(0), ...put(1) });
    const { sets } = await serve(test);
    for (let version = 1; version <= 100; version += 1) await editor.change({ ...by(version), ...put(version + 1) });
    await expect.poll(() => limitIn(sets.at(-1)), inForceSoon).toBe(101);
    expect(sets.length).toBeLessThan(60);
  });

  it('are the last good ones while what somebody wrote by hand has faults, which are told once', async () => {
    const test = await kind.fresh();
    const { open, byHand, table } = test;
    const database = open();
    await database.rules.change({ ...by(0), ...put(1) });
    const { sets, faults, source } = await serve(test);
    const write = () =>
      byHand(`update ${table('entries')} set body = '{"limit":{"fixedWindow":{"limt":5,"window":"1h"}}}' where until is null`);
    await write();
    await expect.poll(() => faults.length, inForceSoon).toBe(1);
    expect(faults[0]?.message).toMatch(
      /^database, version 1: rule "a": limit\.fixedWindow.*\n.*rule "a": .*unknown field "limt"; did you mean "limit"\?$/,
    );
    await write();
    await database.plans.set({ customer: 'c', plan: 'pro', by: 'ann' });
    await sleep(1000);
    expect([faults.length, sets.length, stateOf(source)]).toEqual([1, 0, { version: 1, from: 'database', isReachable: true }]);
    await byHand(`delete from ${table('entries')}`);
    await expect.poll(() => faults.length, inForceSoon).toBe(2);
    expect(faults[1]?.message).toContain('no rules are not "no limits"');
    await database.rules.change({ ...by(1), ...put(7) });
    await expect.poll(() => sets.map(limitIn), inForceSoon).toEqual([7]);
  });

  it('stay while the database is away, also over a restart, and are followed again when it is back', async () => {
    const test = await kind.fresh();
    const [first, second] = [temporary(), temporary()];
    const editor = test.open().rules;
    await editor.change({ ...by(0), ...put(1) });
    const running = await serve(test, first);
    const other = await serve(test, second);
    await editor.change({ ...by(1), ...put(2) });
    for (const folder of [first, second]) await expect.poll(() => kept(folder), patient).toContain('"version":2');
    expect(statSync(copyIn(first)).mode & 0o777).toBe(0o600);

    await test.goAway();
    // Told as soon as it is noticed, not only when the refresh is due.
    for (const { reach } of [running, other]) await expect.poll(() => reach, patient).toEqual([expect.stringMatching(/^away: /)]);
    await expect(editor.current()).rejects.toMatchObject({ name: 'DatabaseError', trouble: 'unreachable' });
    const restarted = await serve(test, first);
    expect([limitIn(restarted.source.rules), stateOf(restarted.source)]).toEqual([2, { version: 2, from: 'disk', isReachable: false }]);
    expect(restarted.reach).toEqual([
      expect.stringMatching(/^away: (sqlite|postgres):.*(the file is gone|no server listens there|starting or stopping)/),
    ]);
    expect([running, other].map(({ sets, faults }) => [...sets.map(limitIn), faults.length])).toEqual([
      [2, 0],
      [2, 0],
    ]);

    await test.comeBack();
    await expect.poll(() => restarted.reach.at(-1), patient).toBe('back');
    expect(stateOf(restarted.source)).toEqual({ version: 2, from: 'database', isReachable: true });
    await editor.change({ ...by(2), ...put(3) });
    const all = [running, other, restarted];
    await expect.poll(() => all.map(({ sets }) => limitIn(sets.at(-1))), patient).toEqual([3, 3, 3]);
    expect(all.flatMap(({ faults, diskFaults }) => [...faults, ...diskFaults])).toEqual([]);
    for (const { reach } of all) expect(reach).toEqual([expect.stringMatching(/^away: /), 'back']);
  });

  it('are those of the disk at a start where the database has faults, which are told', async () => {
    const test = await kind.fresh();
    const folder = temporary();
    await test.open().rules.change({ ...by(0), ...put(1) });
    const before = await serve(test, folder);
    await expect.poll(() => kept(folder), patient).toContain('"version":1');
    before.stop();
    await test.byHand(`update ${test.table('entries')} set body = '{}'`);
    const { source, faults, sets } = await serve(test, folder);
    expect([limitIn(source.rules), stateOf(source), faults.length]).toEqual([1, { version: 1, from: 'disk', isReachable: true }, 1]);
    await sleep(600);
    expect([faults.length, sets.length]).toEqual([1, 0]);
    await expect(serve(test)).rejects.toMatchObject({ name: 'RulesError', message: expect.stringContaining('limit: is missing') });
  });

  it('are a fault where there are none yet', async () => {
    await expect(serve(await kind.fresh())).rejects.toThrow(
      /there are no rules; no rules are not "no limits": put at least one, or import some: headgate rules import FILE/,
    );
  });

  it('cannot be had from a copy that is cut, damaged or of another database, and the error says which', async () => {
    const test = await kind.fresh();
    const folder = temporary();
    const { rules, shown } = test.open();
    await rules.change({ ...by(0), ...put(1) });
    const { stop } = await serve(test, folder);
    await expect.poll(() => kept(folder), patient).toContain('"version":1');
    stop();
    const whole = kept(folder);
    await test.goAway();
    for (const [content, told] of [
      ['', /is none of ours, or cut: there is nothing to start with/],
      [whole.slice(0, 20), /none of ours, or cut/],
      [whole.slice(0, -1), /is damaged \(checksum\)/],
      [whole.replace('"limit":1', '"limit":9'), /is damaged \(checksum\)/],
      [whole.replace(shown, 'sqlite:/other'), /is of another database \(sqlite:\/other\)/],
      [whole.replace('"kind":"rules"', '"kind":"exceptions"'), /is not of this kind/],
    ] as const) {
      writeFileSync(copyIn(folder), content);
      await expect(serve(test, folder), String(told)).rejects.toMatchObject({
        name: 'DatabaseError',
        message: expect.stringMatching(told),
      });
    }
    writeFileSync(copyIn(folder), whole);
    expect((await serve(test, folder)).source.state()).toMatchObject({ from: 'disk' });
    // Without a copy a file of SQLite is begun anew: it may be the first start.
    if (kind.name === 'sqlite') return;
    await expect(serve(test, temporary())).rejects.toThrow(/there is no copy .*rules\.copy yet: there is nothing to start with/);
    await expect(serve(test)).rejects.toThrow(/no copy is kept on disk: there is nothing to start with/);
  });

  it('are in force although the copy cannot be written, which is told once', async () => {
    const test = await kind.fresh();
    const { rules } = test.open();
    await rules.change({ ...by(0), ...put(1) });
    const { sets, diskFaults } = await serve(test, join(temporary(), 'no such folder'));
    await rules.change({ ...by(1), ...put(2) });
    await expect.poll(() => sets.map(limitIn), inForceSoon).toEqual([2]);
    await sleep(100);
    expect(diskFaults).toEqual([expect.stringMatching(/cannot be written \(ENOENT\); is its folder there and writable\?/)]);
  });

  it('are left alone after the end', async () => {
    const test = await kind.fresh();
    const { rules } = test.open();
    await rules.change({ ...by(0), ...put(1) });
    const { sets, stop, reach } = await serve(test);
    stop();
    await rules.change({ ...by(1), ...put(2) });
    await sleep(1000);
    expect([sets, reach]).toEqual([[], []]);
  });
});
