import { expect, it } from 'vitest';
import type { Database } from '../src/database/open.js';
import { RulesError } from '../src/rules/faults.js';
import { InputError } from '../src/rules/inputs.js';
import { ConflictError, NoVersionError, type RulesRepository, type StoredSet, type Version } from '../src/rules/repository.js';
import { atOnce } from '../src/rules/slices.js';
import { fileOf } from '../src/rules/stored-set.js';
import { describeBoth, type Kind } from './support/databases.js';

const perHour = (limit: number) => ({ limit: { fixedWindow: { limit, window: '1h' } } });
const by = (base: number, author = 'ann', reason = '') => ({ base, author, reason });

const limitsOf = ({ rules }: Pick<StoredSet, 'rules'>): Record<string, number> =>
  Object.fromEntries(
    [...rules].map(([name, body]) => [name, (body as { limit: { fixedWindow: { limit: number } } }).limit.fixedWindow.limit]).sort(),
  );

async function start({ fresh }: Kind): Promise<{ database: Database; rules: RulesRepository }> {
  const database = (await fresh()).open();
  return { database, rules: database.rules };
}

describeBoth('rules in a database', (kind) => {
  it('begin with nothing, at version 0', async () => {
    const { rules } = await start(kind);
    expect(await rules.current()).toEqual({ version: 0, edition: 0, rules: new Map(), blocks: new Map() });
    expect(await rules.history({ limit: 10 })).toEqual([]);
  });

  it('are changed by versions, of which each says who, when, why and what', async () => {
    const { rules, database } = await start(kind);
    const before = Date.now();
    const first = await rules.change({ ...by(0, 'ann', 'first rules'), put: { search: perHour(1), login: perHour(2) } });
    expect(first).toMatchObject({ version: 1, warnings: [] });
    await rules.change({ ...by(1, 'bob'), put: { search: perHour(3) }, remove: ['login'], blocks: { identify: { trustProxies: 1 } } });
    const current = await rules.current();
    expect([current.version, limitsOf(current), current.blocks]).toEqual([2, { search: 3 }, new Map([['identify', { trustProxies: 1 }]])]);

    const [second, ...older] = await rules.history({ limit: 10 });
    expect(older).toHaveLength(1);
    expect(second).toEqual({
      ...{ number: 2, author: 'bob', reason: '', kind: 'change', at: expect.any(Number), count: 3 },
      touched: [
        { kind: 'block', name: 'identify', did: 'added' },
        { kind: 'rule', name: 'login', did: 'removed' },
        { kind: 'rule', name: 'search', did: 'changed' },
      ],
    } satisfies Version);
    expect(older[0]).toMatchObject({ number: 1, author: 'ann', reason: 'first rules' });
    expect(second?.at).toBeGreaterThanOrEqual(before);
    expect(second?.at).toBeLessThanOrEqual(Date.now());
    expect(await database.audit.list({ limit: 10 })).toMatchObject([
      { who: 'bob', what: 'rules.change', version: 2 },
      { who: 'ann', what: 'rules.change', version: 1, detail: { reason: 'first rules' } },
    ]);
  });

  it('are known as they were at any version, and by what differs between any two', async () => {
    const { rules } = await start(kind);
    await rules.change({ ...by(0), put: { a: perHour(1), b: perHour(1) } });
    await rules.change({ ...by(1), put: { a: perHour(2) } });
    await rules.change({ ...by(2), put: { a: perHour(1), c: perHour(1) } });
    await rules.change({ ...by(3), put: { d: perHour(1) }, remove: ['b'] });
    const sets = [{}, { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 1, b: 1, c: 1 }, { a: 1, c: 1, d: 1 }];
    for (const [version, limits] of sets.entries()) {
      const set = await rules.at(version);
      expect([set.version, limitsOf(set)]).toEqual([version, limits]);
    }
    const differing = async (from: number, to: number) =>
      (await rules.diff(from, to)).map(({ name, before, after }) => `${before ? 'had' : 'had no'} ${name}, ${after ? 'has' : 'has none'}`);
    // Changed and changed back is no difference.
    expect(await differing(1, 3)).toEqual(['had no c, has']);
    expect(await differing(3, 1)).toEqual(['had c, has none']);
    expect(await differing(1, 4)).toEqual(['had b, has none', 'had no c, has', 'had no d, has']);
    expect(await rules.diff(1, 2)).toEqual([{ kind: 'rule', name: 'a', before: perHour(1), after: perHour(2) }]);
    expect(await rules.diff(2, 2)).toEqual([]);
    for (const version of [5, -1, 0.5, Number.NaN])
      for (const ask of [() => rules.at(version), () => rules.diff(version, 1), () => rules.diff(1, version)])
        await expect(ask(), String(version)).rejects.toThrow(NoVersionError);
    await expect(rules.at(5)).rejects.toThrow('there is no version 5; versions are whole numbers from 0 to 4, the current one');
  });

  it('tell their history by pages, and that of one rule', async () => {
    const { rules } = await start(kind);
    for (let base = 0; base < 7; base += 1) await rules.change({ ...by(base), put: { [base % 3 === 0 ? 'a' : 'b']: perHour(base) } });
    await rules.change({ ...by(7), remove: ['a'] });
    const numbers = async (page: Parameters<RulesRepository['history']>[0]) => (await rules.history(page)).map(({ number }) => number);
    expect(await numbers({ limit: 3 })).toEqual([8, 7, 6]);
    expect(await numbers({ limit: 3, before: 6 })).toEqual([5, 4, 3]);
    expect(await numbers({ limit: 10, rule: 'a' })).toEqual([8, 7, 4, 1]);
    expect(await numbers({ limit: 2, rule: 'a', before: 8 })).toEqual([7, 4]);
    expect(await numbers({ limit: 2, rule: 'none' })).toEqual([]);
    for (const limit of [0, 201, 1.5])
      await expect(rules.history({ limit })).rejects.toThrow(/limit: expected a whole number from 1 to 200/);
  });

  it('of two editors at once take one, and tell the other who changed what', async () => {
    const { fresh } = kind;
    const database = await fresh();
    const [ann, bob] = [database.open().rules, database.open().rules];
    await ann.change({ ...by(0), put: { a: perHour(1) } });
    const results = await Promise.allSettled([
      ann.change({ ...by(1, 'ann', 'too slow'), put: { a: perHour(2) } }),
      bob.change({ ...by(1, 'bob', 'too many'), put: { b: perHour(3) } }),
    ]);
    const refused = results.find((result) => result.status === 'rejected')?.reason as ConflictError;
    expect(refused).toBeInstanceOf(ConflictError);
    const winner = results[0]?.status === 'fulfilled' ? 'ann' : 'bob';
    expect(refused).toMatchObject({ base: 1, current: 2, since: [{ number: 2, author: winner }] });
    expect(refused.message).toContain(
      winner === 'ann' ? '2 by ann: changed rule "a" ("too slow")' : '2 by bob: added rule "b" ("too many")',
    );
    expect(limitsOf(await ann.current())).toEqual(winner === 'ann' ? { a: 2 } : { a: 1, b: 3 });
  });

  it('lose nothing when twenty editors write at once and repeat what was refused', async () => {
    const { fresh } = kind;
    const database = await fresh();
    const servers = Array.from({ length: 4 }, () => database.open());
    let conflicts = 0;
    async function edit(rules: RulesRepository, name: string): Promise<void> {
      for (;;) {
        const { version } = await rules.current();
        try {
          await rules.change({ ...by(version, name), put: { [name]: perHour(1) } });
          return;
        } catch (error) {
          if (!(error instanceof ConflictError)) throw error;
          conflicts += 1;
        }
      }
    }
    const names = Array.from({ length: 20 }, (_, index) => `rule ${String(index).padStart(2, '0')}`);
    await Promise.all(names.map((name, index) => edit(servers[index % servers.length]?.rules as RulesRepository, name)));
    const { rules, audit } = servers[0] as Database;
    const current = await rules.current();
    expect([current.version, [...current.rules.keys()].sort()]).toEqual([20, names]);
    expect((await rules.history({ limit: 100 })).map(({ author }) => author).sort()).toEqual(names);
    expect(await audit.list({ limit: 100 })).toHaveLength(20);
    expect(conflicts).toBeGreaterThan(0);
  });

  it('go back to any version by a new one', async () => {
    const { rules } = await start(kind);
    await rules.importAll({ ...by(0), file: { version: 1, identify: { trustProxies: 2 }, rules: [{ name: 'a', ...perHour(1) }] } });
    await rules.change({ ...by(1), put: { a: perHour(9), b: perHour(9) }, blocks: { identify: null } });
    expect(await rules.rollback({ ...by(2, 'cleo', 'b was wrong'), to: 1 })).toMatchObject({ version: 3 });
    expect(fileOf(await rules.current())).toEqual(fileOf(await rules.at(1)));
    expect((await rules.history({ limit: 1 }))[0]).toMatchObject({ kind: 'rollback', restores: 1, author: 'cleo', count: 3 });
    // And forward again.
    await rules.rollback({ ...by(3), to: 2 });
    expect(limitsOf(await rules.current())).toEqual({ a: 9, b: 9 });
    await expect(rules.rollback({ ...by(4), to: 5 })).rejects.toThrow(NoVersionError);
    await expect(rules.rollback({ ...by(4), to: 0 })).rejects.toThrow(/no rules are not "no limits"/);
    await expect(rules.rollback({ ...by(3), to: 1 })).rejects.toThrow(ConflictError);
  });

  it('are replaced as a whole by an import, in one version of what differs', async () => {
    const { rules } = await start(kind);
    await rules.change({ ...by(0), put: { a: perHour(1), b: perHour(1), c: perHour(1) } });
    const file = {
      version: 1,
      rules: [
        { name: 'b', ...perHour(2) },
        { name: 'c', ...perHour(1) },
        { name: 'd', ...perHour(1) },
      ],
    };
    const { differences } = await rules.importAll({ ...by(1), file });
    expect(differences.map(({ name }) => name)).toEqual(['a', 'b', 'd']);
    expect(atOnce(fileOf(await rules.current()))).toEqual(file);
    expect((await rules.history({ limit: 1 }))[0]).toMatchObject({ kind: 'import', count: 3 });
    for (const [wrong, told] of [
      [undefined, /undefined/],
      [{ version: 2, rules: [] }, /reads version 1; got 2/],
      [{ version: 1 }, /rules: expected a list/],
      [{ version: 1, rules: [{}] }, /number 1 has no name/],
      [{ version: 1, rules: [{ name: 'x' }, { name: 'x' }] }, /number 2 has the name "x" of one before it/],
      [{ version: 1, rules: [] }, /no rules are not "no limits"/],
      [{ version: 1, rules: [{ name: 'a', ...perHour(1) }], identifi: {} }, /unknown field "identifi"; did you mean "identify"/],
    ] as const)
      await expect(rules.importAll({ ...by(2), file: wrong }), JSON.stringify(wrong)).rejects.toThrow(told);
    expect((await rules.current()).version).toBe(2);
  });

  it('import ten thousand in one version', async () => {
    const { rules } = await start(kind);
    const many = Array.from({ length: 10_000 }, (_, index) => ({ name: `rule ${index}`, ...perHour(index) }));
    await rules.importAll({ ...by(0), file: { version: 1, rules: many } });
    await rules.importAll({ ...by(1), file: { version: 1, rules: many.map((rule) => ({ ...rule, ...perHour(1) })) } });
    expect((await rules.current()).rules.size).toBe(10_000);
    expect((await rules.history({ limit: 1 }))[0]).toMatchObject({ count: 9999, touched: { length: 20 } });
    expect(await rules.diff(0, 2)).toHaveLength(10_000);
  });

  it('make no version of a change that changes nothing', async () => {
    const { rules, database } = await start(kind);
    const limit = { tokenBucket: { capacity: 1, refill: '1/s' } };
    await rules.change({ ...by(0), put: { a: { limit, plans: { x: limit, y: limit } } } });
    const same = { plans: { y: limit, x: { tokenBucket: { refill: '1/s', capacity: 1 } } }, limit, name: 'a' };
    expect(await rules.change({ ...by(1), put: { a: same }, blocks: { identify: null } })).toMatchObject({ version: 1, differences: [] });
    expect(await rules.change(by(1))).toMatchObject({ version: 1 });
    expect(await database.audit.list({ limit: 10 })).toHaveLength(1);
  });

  it('with faults are refused, all faults at once, and nothing is written', async () => {
    const { rules, database } = await start(kind);
    await rules.change({ ...by(0), put: { good: perHour(1) } });
    const put = {
      typo: { limit: { tokenBucket: { capacty: 5, refill: '2/s' } } },
      zone: { limit: { quota: { limit: 1, period: 'day', timeZone: 'Mars/Olympus' } } },
      text: 'not fields',
      other: { name: 'another', ...perHour(1) },
      keyless: { match: { path: '/a' }, ...perHour(1) },
    };
    const error = (await rules
      .change({ ...by(1), put, blocks: { rules: [], identify: { trustProxies: ['10.0.0.0/99'] } } })
      .catch((reason: unknown) => reason)) as RulesError;
    expect(error).toBeInstanceOf(RulesError);
    const told = (rule: string | undefined, ...parts: string[]) =>
      expect(
        error.faults.some((fault) => fault.rule === rule && parts.every((part) => fault.message.includes(part))),
        `${rule} ${parts}\n${error.message}`,
      ).toBe(true);
    told('"typo"', 'unknown field "capacty"', 'did you mean "capacity"?');
    told('"typo"', 'limit.tokenBucket.capacity: is missing');
    told('"zone"', 'Mars/Olympus');
    told('"text"', 'expected fields with values');
    told('"other"', 'name: another than the one it is stored under');
    told('"keyless"', 'needs a "key"');
    told(undefined, 'the block "rules"');
    told(undefined, '10.0.0.0/99');
    expect(error.faults.every(({ file, line }) => file === 'rules' && line === 0)).toBe(true);
    await expect(rules.change({ ...by(1), remove: ['good'] })).rejects.toThrow(/no rules are not "no limits"/);
    expect([(await rules.current()).version, limitsOf(await rules.current())]).toEqual([1, { good: 1 }]);
    expect(await database.audit.list({ limit: 10 })).toHaveLength(1);
  });

  it('refuse what cannot be asked, and say what could', async () => {
    const { rules } = await start(kind);
    await rules.change({ ...by(0), put: { a: perHour(1) } });
    const put = { b: perHour(1) };
    for (const [edit, told] of [
      [{ ...by(1, ''), put }, /author: expected 1 to 200 characters/],
      [{ ...by(1, 'a\0b'), put }, /author: .*without NUL; got "a\\u0000b"/],
      [{ ...by(1, '\ud800'), put }, /author: .*well-formed/],
      [{ ...by(1, 'ann', 'x'.repeat(1001)), put }, /reason: .*got string of 1003 characters/],
      [{ ...by(1), remove: ['none'] }, /remove: there is no rule "none"/],
      [{ ...by(1), put, remove: ['b'] }, /remove: rule "b" is also in "put"/],
      [{ ...by(1), put: { b: undefined } }, /put "b": expected fields with values; got undefined/],
      [{ ...by(1), put: { b: 1n } }, /put "b": cannot be written as JSON/],
      [{ ...by(1), put: { b: { ...perHour(1), x: 'y'.repeat(70_000) } } }, /put "b": is 7\d{4} characters long as JSON; at most 65536/],
    ] as const)
      await expect(rules.change(edit), String(told)).rejects.toThrow(expect.objectContaining({ message: expect.stringMatching(told) }));
    await expect(rules.change({ ...by(1), remove: ['none'] })).rejects.toThrow(InputError);
    await expect(rules.change({ ...by(2), put })).rejects.toThrow(/there is no version 2; versions are whole numbers from 0 to 1/);
    await expect(rules.change({ ...by(Number.NaN), put })).rejects.toThrow(NoVersionError);
    await expect(rules.change({ ...by(1), put: { ['x'.repeat(200)]: perHour(1) } })).rejects.toThrow(/1 to 128 printable ASCII/);
  });

  it('may be called anything, and say anything', async () => {
    const { rules } = await start(kind);
    const odd = JSON.parse(
      `{"__proto__":${JSON.stringify(perHour(1))},"constructor":${JSON.stringify(perHour(2))},"a b":${JSON.stringify(perHour(3))}}`,
    );
    const match = { match: { path: '/\u0000\ud800"\'😀' }, key: ['ip'] };
    await rules.change({ ...by(0, '" ; drop table entries --', "'"), put: { ...odd, ['__proto__']: { ...perHour(1), ...match } } });
    const { rules: stored } = await rules.current();
    expect([...stored.keys()].sort()).toEqual(['__proto__', 'a b', 'constructor']);
    expect(stored.get('__proto__')).toEqual({ ...perHour(1), ...match });
  });

  it('that somebody changed by hand meanwhile are compiled again before a change is written', async () => {
    const { fresh } = kind;
    const { open, byHand, table } = await fresh();
    const { rules } = open();
    await rules.change({ ...by(0), put: { a: perHour(1) } });
    const edition = await rules.edition();
    await byHand(`update ${table('entries')} set body = '{"limit":{"fixedWindow":{"limit":7,"window":"1h"}}}'`);
    expect(await rules.edition()).toBeGreaterThan(edition);
    await rules.change({ ...by(1), put: { b: perHour(1) } });
    expect(limitsOf(await rules.current())).toEqual({ a: 7, b: 1 });
    await byHand(`update ${table('entries')} set body = '{}' where name = 'a'`);
    await expect(rules.change({ ...by(2), put: { b: perHour(2) } })).rejects.toThrow(/rule "a": limit: is missing/);
    await rules.change({ ...by(2), put: { a: perHour(8) } });
    await expect(byHand(`update ${table('entries')} set body = 'no json'`)).rejects.toThrow();
  });
});
