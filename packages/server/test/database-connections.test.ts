import { mkdirSync, readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import Libsql from 'libsql';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { postgres } from '../../../test/support/postgres.js';
import { startProxy } from '../../../test/support/proxy.js';
import { openSqliteFile } from '../src/database/sqlite-file.js';
import { describeBoth, opened, postgresql } from './support/databases.js';
import { later, temporary } from './support/service.js';

const minute = { limit: { fixedWindow: { limit: 5, window: '1m' } } };
const change = (base: number) => ({ base, author: 'ann', reason: '', put: { a: { ...minute, countRefused: base % 2 === 0 } } });
const databaseIn = (url: string): string => new URL(url).pathname.slice(1);

describeBoth('a database', (kind) => {
  it('is not touched before it is asked, nor after it is closed', async () => {
    const test = await kind.fresh();
    const database = test.open();
    if (kind.name === 'sqlite') expect(readdirSync(join(test.url.slice('sqlite:'.length), '..'))).toEqual([]);
    await database.close();
    await expect(database.rules.current()).rejects.toThrow('the database is closed');
  });

  it('is used again when it is back, without anybody doing anything', async () => {
    const test = await kind.fresh();
    const { rules } = test.open();
    await rules.change(change(0));
    for (let round = 1; round <= 2; round += 1) {
      await test.goAway();
      for (let times = 0; times < 3; times += 1)
        await expect(rules.change(change(round))).rejects.toMatchObject({ name: 'DatabaseError', trouble: 'unreachable' });
      await test.comeBack();
      await expect.poll(async () => (await rules.current().catch(() => undefined))?.version, { timeout: 10_000 }).toBe(round);
      await rules.change(change(round));
    }
  });
});

describe('a file of SQLite', () => {
  const fresh = () => {
    const file = join(temporary(), 'rules.db');
    return { file, url: `sqlite:${file}`, database: opened(`sqlite:${file}`) };
  };
  const descriptors = (file: string) =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(file);
      } catch {
        return false;
      }
    }).length;

  it('may be read by this user only', async () => {
    const { file, database } = fresh();
    await database.rules.change(change(0));
    for (const name of readdirSync(join(file, '..'))) expect([name, statSync(join(file, '..', name)).mode & 0o777]).toEqual([name, 0o600]);
  });

  it('is waited for while another process writes, and meanwhile this one goes on', async () => {
    const { file, database } = fresh();
    await database.rules.change(change(0));
    const other = new Libsql(file);
    other.exec('begin immediate');
    let longest = 0;
    let last = performance.now();
    const beat = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 1);
    const changed = database.rules.change(change(1));
    expect((await database.rules.current()).version).toBe(1);
    await sleep(500);
    other.exec('commit');
    expect((await changed).version).toBe(2);
    clearInterval(beat);
    other.close();
    // A decision has 10 ms; other tests run beside this one.
    expect(longest).toBeLessThan(200);
  });

  it('whose tables are gone is told with the mend', async () => {
    const { file, database } = fresh();
    await database.rules.change(change(0));
    const other = new Libsql(file, { timeout: 1000 });
    other.exec('drop table plans');
    other.close();
    await expect(database.plans.of('c')).rejects.toMatchObject({
      trouble: 'damaged',
      message: expect.stringMatching(/restart it to bring them up to date/),
    });
  });

  it('that cannot be one is told with the mend', async () => {
    const folder = temporary();
    const error = (name: string) =>
      opened(`sqlite:${join(folder, name)}`)
        .ready()
        .then(
          () => undefined,
          (reason: unknown) => reason,
        );
    writeFileSync(join(folder, 'text'), 'hello '.repeat(1000));
    mkdirSync(join(folder, 'folder'));
    expect(await error('text')).toMatchObject({
      trouble: 'damaged',
      message: expect.stringMatching(/sqlite:.*text: the file is no SQLite database; is it the right one\?/),
    });
    expect(await error('none/x.db')).toMatchObject({
      trouble: 'unreachable',
      message: expect.stringMatching(/are its folder there and both writable\?/),
    });
    expect(await error('folder')).toMatchObject({ trouble: 'unreachable' });
  });

  it.skipIf(process.platform !== 'linux')('is let go of when it is closed', async () => {
    const { file, database } = fresh();
    await database.rules.change(change(0));
    const unwatch = database.changes.watch(() => undefined);
    expect(descriptors(file)).toBeGreaterThan(0);
    unwatch();
    await database.close();
    // The driver lets go of statements, and with them of the file, when they are collected.
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await expect
      .poll(() => {
        collect();
        return descriptors(file);
      })
      .toBe(0);
  });

  it('is never given what ends the process in the driver, or is cut there', () => {
    const file = openSqliteFile(join(temporary(), 'x.db'), true);
    later(file.close);
    expect(file.run('select ? as x', ['a']).rows).toEqual([{ x: 'a' }]);
    for (const value of [true, undefined, new Date(0), 'a\0b', {}]) expect(() => file.run('select ? as x', [value])).toThrow(TypeError);
  });
});

describe.skipIf(postgresql.missing !== undefined)('PostgreSQL', () => {
  it('is asked over two connections at most, and one that listens, however much there is to do or goes wrong', async () => {
    const { url } = await postgresql.fresh();
    const server = await postgresql.server();
    const database = opened(url);
    await database.rules.change(change(0));
    const unwatch = database.changes.watch(() => undefined);
    let most = 0;
    const work = Array.from({ length: 200 }, async (_, index) => {
      if (index % 2) await database.rules.current();
      else await expect(database.rules.change({ ...change(1), remove: ['none'] })).rejects.toThrow(/no rule "none"/);
    });
    const looks = setInterval(() => void server.connections(databaseIn(url)).then((now) => (most = Math.max(most, now))), 20);
    await Promise.all(work);
    clearInterval(looks);
    await expect.poll(() => server.connections(databaseIn(url))).toBeLessThanOrEqual(3);
    expect(most).toBeLessThanOrEqual(3);
    unwatch();
    await database.close();
    await expect.poll(() => server.connections(databaseIn(url))).toBe(0);
  });

  it('is listened to again when its connections are cut, and what was missed is told', async () => {
    const { url } = await postgresql.fresh();
    const server = await postgresql.server();
    const database = opened(url);
    await database.rules.change(change(0));
    const wakes: boolean[] = [];
    later(database.changes.watch((missed) => wakes.push(missed)));
    await expect.poll(() => wakes).toEqual([true]);
    await opened(url).rules.change(change(1));
    await expect.poll(() => wakes).toEqual([true, false]);
    await server.cut(databaseIn(url));
    // Cut, and listening again.
    await expect.poll(() => wakes, { timeout: 5000 }).toEqual([true, false, true, true]);
    await database.rules.change(change(2));
    await expect.poll(() => wakes.at(-1)).toBe(false);
    expect(await server.connections(databaseIn(url))).toBeLessThanOrEqual(4);
  });

  it('ends a statement that others hold up, and nothing is written', async () => {
    const { url } = await postgresql.fresh();
    const database = opened(url, { statementMs: 500 });
    await database.rules.change(change(0));
    const other = new pg.Client(url);
    await other.connect();
    later(() => other.end());
    await other.query('begin; lock table headgate.versions in access exclusive mode');
    const since = performance.now();
    await expect(database.plans.of('c')).resolves.toBeUndefined();
    await expect(database.rules.change(change(1))).rejects.toMatchObject({
      trouble: 'busy',
      message: expect.stringMatching(/took too long and was ended; nothing was written \(57014\)/),
    });
    expect(performance.now() - since).toBeLessThan(3000);
    await other.query('rollback');
    expect((await database.rules.change(change(1))).version).toBe(2);
  });

  it('is given up when the way to it is cut in silence, and used again by new connections', async () => {
    const { url } = await postgresql.fresh();
    const server = await postgresql.server();
    const proxy = await startProxy(server.port);
    later(() => proxy.close());
    const database = opened(url.replace(`:${server.port}/`, `:${proxy.port}/`), { statementMs: 500 });
    await database.rules.change(change(0));
    proxy.pauseReplies();
    const since = performance.now();
    await expect(database.rules.current()).rejects.toMatchObject({
      trouble: 'unreachable',
      message: expect.stringMatching(/it did not answer in time/),
    });
    await expect(database.rules.current()).rejects.toMatchObject({ trouble: 'unreachable' });
    expect(performance.now() - since).toBeLessThan(10_000);
    proxy.resumeReplies();
    await expect.poll(async () => (await database.rules.current().catch(() => undefined))?.version, { timeout: 10_000 }).toBe(1);
  });

  it('is written to by two at once whatever its own isolation is', async () => {
    const { url } = await postgresql.fresh();
    const server = await postgresql.server();
    await server.query(`alter database ${databaseIn(url)} set default_transaction_isolation = 'serializable'`);
    const [first, second] = [opened(url), opened(url)];
    await first.rules.change(change(0));
    for (let base = 1; base < 20; base += 1) {
      const both = await Promise.allSettled([first.rules.change(change(base)), second.rules.change({ ...change(base), author: 'bob' })]);
      const names = both.map((result) => (result.status === 'rejected' ? (result.reason as Error).name : 'written'));
      expect(names.sort()).toEqual(['ConflictError', 'written']);
    }
  });

  it('that will not have us is told with the mend, and without user and password', async () => {
    const { url } = await postgresql.fresh();
    const server = await postgresql.server();
    const message = async (wrong: string): Promise<string> => {
      const error = (await opened(wrong)
        .ready()
        .catch((reason: unknown) => reason)) as Error & { trouble?: string };
      // As a log would have it, with all that it carries.
      const all = JSON.stringify([error.message, error.stack, error.cause, { ...error }]);
      for (const secret of [server.password, encodeURIComponent(server.password), server.user, 'hidden']) expect(all).not.toContain(secret);
      return `${error.trouble} ${error.message}`;
    };
    const place = `127.0.0.1:${server.port}`;
    expect(await message(`postgres://${server.user}:hidden@${place}/postgres`)).toMatch(
      /^refused postgres:\/\/\*\*\*@127.*: it does not take this user or password; .*\(28P01\)$/,
    );
    expect(await message(`postgres://hidden@${place}/postgres`)).toMatch(/^refused .*(it asks for a password|does not take this user)/);
    expect(await message(url.replace(/\/test\d+$/, '/nowhere'))).toMatch(
      /^refused .*there is no database of this name; create it: createdb NAME \(3D000\)/,
    );
    expect(await message('postgres://hidden:hidden@127.0.0.1:1/d')).toMatch(
      /^unreachable .*no server listens there; is it running, and is the address right\? \(ECONNREFUSED\)/,
    );
    expect(await message('postgres://hidden:hidden@nowhere.invalid/d')).toMatch(/^unreachable .*its host/);
    expect(await message(`${url}?sslmode=require`)).toMatch(/^refused .*it speaks no TLS; set it up there, or leave sslmode out/);
    await server.query("create role guest login password 'hidden'", databaseIn(url));
    expect(await message(`postgres://guest:hidden@${place}/${databaseIn(url)}`)).toMatch(
      /^refused .*the user may not do this; let it use and create: GRANT USAGE, CREATE ON SCHEMA/,
    );
    expect(() => opened(`${url}?sslmode=verify-full&sslrootcert=/none.pem`)).toThrow(/^sslrootcert: \/none.pem cannot be read \(ENOENT\)$/);
  });

  it('needs no right to make schemas where somebody made one, and takes any name', async () => {
    const { url } = await postgresql.fresh();
    const server = await postgresql.server();
    const name = databaseIn(url);
    await server.query("create role owner login password 'x'; create schema limits authorization owner", name);
    const mine = `postgres://owner:x@127.0.0.1:${server.port}/${name}?schema=limits`;
    const database = opened(mine);
    const wakes: boolean[] = [];
    later(database.changes.watch((missed) => wakes.push(missed)));
    await expect.poll(() => wakes).toEqual([true]);
    await database.rules.change(change(0));
    // Beside another, in the same database.
    const beside = opened(url);
    expect((await beside.rules.current()).version).toBe(0);
    await expect.poll(() => wakes.includes(false)).toBe(true);
    const before = wakes.length;
    await beside.rules.change(change(0));
    await sleep(200);
    expect(wakes).toHaveLength(before);
  });
});

it('says why, where there is no PostgreSQL', () => {
  const found = postgres();
  expect('folder' in found ? found.folder : found.reason).toMatch(/postgres|PostgreSQL/);
});
