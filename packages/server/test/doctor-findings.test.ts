import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { table, wrap } from '../src/cli/findings.js';
import { readRedisUrl, showRedisAddress } from '../src/redis-address.js';
import { refusalOf } from '../src/usecases/doctor/access.js';
import { uncoveredSlots } from '../src/usecases/doctor/checks/cluster.js';
import { parseClusterNodes } from '../src/usecases/doctor/discover.js';
import { examine } from '../src/usecases/doctor/examine.js';
import type { Facts, NodeFacts } from '../src/usecases/doctor/facts.js';
import { byWorst, bytes, seconds, worstOf, type Finding } from '../src/usecases/doctor/finding.js';
import { parseInfo } from '../src/usecases/doctor/info.js';
import { neededCommands } from '../src/usecases/doctor/needed.js';
import { faultOf } from '../src/usecases/doctor/node.js';
import { countKeys } from '../src/usecases/doctor/sample.js';
import { bestReading, percentile } from '../src/usecases/doctor/timing.js';

const node = (info: string, more: Partial<NodeFacts> = {}): NodeFacts => ({
  name: 'a:1',
  role: 'master',
  info: parseInfo(info),
  config: new Map(),
  unread: [],
  ...more,
});
const facts = (nodes: readonly NodeFacts[], more: Partial<Facts> = {}): Facts => ({
  target: { kind: 'single', nodes: [], name: undefined, database: 0, user: undefined },
  prefix: 'hg',
  deadlineMs: 10,
  nodes,
  silent: [],
  ...more,
});
const found = (id: string, nodes: readonly NodeFacts[], more: Partial<Facts> = {}): Finding[] =>
  examine(facts(nodes, more)).filter((finding) => finding.id === id);
const shortly = (id: string, nodes: readonly NodeFacts[], more: Partial<Facts> = {}): string[] =>
  found(id, nodes, more).map(({ severity, found: what }) => `${severity}: ${what}`);

describe('what the doctor says of facts', () => {
  it('takes Redis from 6.2 and Valkey from 7.2 on, and tells other servers from them', () => {
    const version = (info: string): string[] => shortly('server-version', [node(info)]);
    expect(version('redis_version:6.2.0')).toEqual(['ok: Redis 6.2.0']);
    expect(version('redis_version:8.10.1')).toEqual(['ok: Redis 8.10.1']);
    expect(version('redis_version:6.0.16')).toEqual(['error: Redis 6.0.16']);
    expect(version('redis_version:5.0.7')).toEqual(['error: Redis 5.0.7']);
    expect(version('redis_version:7.2.4\nserver_name:valkey\nvalkey_version:8.1.0')).toEqual(['ok: Valkey 8.1.0']);
    expect(version('redis_version:7.2.4\nvalkey_version:7.1.9')).toEqual(['error: Valkey 7.1.9']);
    expect(version('redis_version:7.2.0\ndragonfly_version:df-v1.20.0')).toEqual(['warning: Dragonfly 1.20.0']);
    expect(version('')).toEqual(['unknown: could not read the version (INFO)']);
  });

  it('judges nothing that it could not read', () => {
    const severities = new Set(examine(facts([node('')])).map(({ severity }) => severity));
    expect([...severities].sort()).toEqual(['ok', 'unknown']);
  });

  it('says how full the memory is, without what replication takes', () => {
    const used = (text: string): string[] => shortly('memory-used', [node(text)]);
    expect(used('used_memory:500\nmaxmemory:1000')).toEqual(['ok: 500 B of 1000 B (50%)']);
    expect(used('used_memory:800\nmaxmemory:1000')).toEqual(['warning: 800 B of 1000 B (80%)']);
    expect(used('used_memory:950\nmaxmemory:1000\nmem_not_counted_for_evict:250')).toEqual(['ok: 950 B of 1000 B (70%)']);
    expect(used('used_memory:950\nmaxmemory:1000')).toEqual(['error: 950 B of 1000 B (95%)']);
    expect(used('used_memory:2048\nmaxmemory:0')).toEqual(['ok: 2.0 KiB']);
  });

  it('says what a restart forgets', () => {
    const persistence = (aof: string, config: Record<string, string>): string[] =>
      shortly('persistence', [node(`aof_enabled:${aof}`, { config: new Map(Object.entries(config)) })]);
    expect(persistence('1', { appendfsync: 'always' })[0]).toMatch(/^ok: .*forgets nothing/);
    expect(persistence('1', { appendfsync: 'everysec' })[0]).toMatch(/^ok: .*at most about 2 s/);
    expect(persistence('1', { appendfsync: 'no' })[0]).toMatch(/^info: /);
    expect(persistence('1', {})[0]).toMatch(/^ok: .*could not read appendfsync/);
    expect(persistence('0', { save: '' })[0]).toMatch(/^warning: none/);
    expect(persistence('0', {})[0]).toMatch(/^warning: .*could not read save/);
    const replica = node('role:slave', { name: 'b:1', role: 'replica', master: 'a:1' });
    const [withReplica] = found('persistence', [node('aof_enabled:0', { config: new Map([['save', '']]) }), replica]);
    expect(withReplica?.why).toContain('its replicas copy the emptiness');
  });

  it('tells a replica that is behind in bytes or in seconds', () => {
    const lagging = (line: string): string[] => shortly('replicas', [node(`role:master\nmaster_repl_offset:9000000\nslave0:${line}`)]);
    expect(lagging('ip=b,port=1,state=online,offset=8999000,lag=1')).toEqual(['ok: b:1: online, 1000 B behind, last heard 1 s ago']);
    expect(lagging('ip=b,port=1,state=online,offset=1000000,lag=1')[0]).toMatch(/^warning: .*7\.6 MiB behind/);
    expect(lagging('ip=b,port=1,state=online,offset=9000000,lag=7')[0]).toMatch(/^warning: .*last heard 7 s ago/);
    expect(lagging('ip=b,port=1,state=wait_bgsave,offset=0,lag=0')[0]).toMatch(/^warning: .*wait_bgsave/);
    const [refusing] = found('failover-loss', [
      node('slave0:ip=b,port=1,state=online,offset=0,lag=0\nmin_slaves_good_slaves:1', {
        config: new Map([
          ['min-replicas-to-write', '2'],
          ['min-replicas-max-lag', '10'],
        ]),
      }),
    ]);
    expect(refusing).toMatchObject({ severity: 'error', why: expect.stringContaining('NOREPLICAS') });
  });

  it("compares a replica's clock with its master's, less what the way there hides", () => {
    const clocks = (offsetMs: number, withinMs: number): string[] =>
      shortly('replica-clock', [
        node('role:master', { clock: { offsetMs: 5000, withinMs: 1 } }),
        node('role:slave', { name: 'b:1', role: 'replica', master: 'a:1', clock: { offsetMs, withinMs } }),
      ]);
    expect(clocks(5050, 1)).toEqual(['ok: 50.0 ms ahead of its master (known to 2.0 ms)']);
    expect(clocks(5150, 60)).toEqual(['ok: 150.0 ms ahead of its master (known to 61.0 ms)']);
    expect(clocks(4800, 1)).toEqual(['warning: 200.0 ms behind its master (known to 2.0 ms)']);
    expect(clocks(65_000, 1)).toEqual(['error: 60 s ahead of its master (known to 2.0 ms)']);
  });

  it('measures slowness by the deadline', () => {
    const trips = (p50: number, slowest: number): string[] =>
      found('round-trip', [node('', { trips: [...Array<number>(97).fill(p50), slowest, slowest, slowest] })]).map(
        ({ severity }) => severity,
      );
    expect([trips(0.2, 4), trips(0.2, 5), trips(0.2, 50), trips(11, 12)]).toEqual([['ok'], ['warning'], ['warning'], ['error']]);
    const forks = (us: number): number => found('fork-time', [node(`latest_fork_usec:${us}`)]).length;
    expect([forks(9000), forks(20_000)]).toEqual([0, 1]);
  });

  it('tells that a server loads, and for how long', () => {
    expect(shortly('loading', [node('loading:1\nloading_eta_seconds:42')])).toEqual(['error: loading its data, for about 42 s more']);
  });

  it('leaves out slow commands of long ago', () => {
    const slow = (ms: number, ageSeconds: number): string[] =>
      shortly('slow-commands', [node('', { slow: [{ name: 'KEYS', ms, ageSeconds }] })]).map((text) => text.slice(0, 7));
    expect([slow(50, 60), slow(5, 60), slow(50, 90_000)]).toEqual([['warning'], ['ok: non'], ['ok: non']]);
  });
});

describe('what the doctor needs to know', () => {
  it('is every command that the scripts and the store of the library use', () => {
    const folder = join(import.meta.dirname, '../../headgate/src/stores/redis');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.lua$|redis-store\.ts$|script\.ts$/.test(name),
    );
    const used = files.flatMap((name) =>
      [...readFileSync(join(folder, name), 'utf8').matchAll(/(?:call|send)\('([A-Z]+)'/g)].map(([, command = '']) => command),
    );
    const known = neededCommands({ kind: 'single', database: 0 }, 'hg').map(({ command }) => command[0]);
    expect(used.length).toBeGreaterThan(20);
    expect(known).toEqual(expect.arrayContaining([...new Set(used)]));
    const docs = new Set(readFileSync(join(import.meta.dirname, '../../../docs/service.md'), 'utf8').split(/[\s`]+/));
    const rules = neededCommands({ kind: 'cluster', database: 1 }, 'hg').map(({ rule }) => rule);
    expect(rules.filter((rule) => !docs.has(rule))).toEqual([]);
  });

  it('is read from the refusals of every version', () => {
    const [needed] = neededCommands({ kind: 'single', database: 0 }, 'hg');
    if (!needed) throw new Error('nothing is needed');
    const refusal = (text: string) => refusalOf(text, needed, '~hg:2{*');
    const lacks = { rule: '+evalsha', missing: false };
    expect(refusal("NOPERM this user has no permissions to run the 'evalsha' command or its subcommand")).toEqual(lacks);
    expect(refusal("User app has no permissions to run the 'evalsha' command")).toEqual(lacks);
    const keys = { rule: '~hg:2{*', missing: false };
    expect(refusal('NOPERM this user has no permissions to access one of the keys used as arguments')).toEqual(keys);
    expect(refusal('NOPERM No permissions to access a key')).toEqual(keys);
    expect(refusal("User app has no permissions to access the 'hg:2{doctor}trial' key")).toEqual(keys);
    expect(refusal("ERR unknown command 'EVALSHA', with args beginning with: 'x'")).toEqual({ rule: '+evalsha', missing: true });
    expect(refusal("ERR Command 'EVALSHA' not found")).toEqual({ rule: '+evalsha', missing: true });
    for (const fine of ['', 'OK', 'NOSCRIPT No matching script.', 'MOVED 1 a:2', "READONLY You can't write"])
      expect(refusal(fine)).toBeUndefined();
  });

  it('are names of faults, never what a message repeats', () => {
    expect(faultOf(new Error("ERR unknown command 'AUTH', with args beginning with: 'hunter2'"))).toBe('UNKNOWN');
    expect(faultOf(new Error('NOPERM no'))).toBe('NOPERM');
    expect(faultOf(Object.assign(new Error('connect ECONNREFUSED 1.2.3.4:5'), { code: 'ECONNREFUSED' }))).toBe('ECONNREFUSED');
    expect(faultOf(new Error('Redis did not', { cause: new Error('OOM command not allowed') }))).toBe('OOM');
    expect(faultOf(new Error('hunter2'))).toBe('ERR');
    expect(faultOf('hunter2')).toBe('ERR');
  });

  it('are the members of a Cluster, by the address that clients use', () => {
    const text = [
      'a1 :7000@17000 myself,master - 0 0 1 connected 0-99 200 [93-<-b2]',
      'b2 10.0.0.2:7001@17001,redis-2.example master - 0 1 2 connected 100-199',
      'c3 10.0.0.3:7002@17002 slave,fail b2 0 1 2 disconnected',
      '',
    ].join('\n');
    const members = parseClusterNodes(text, { host: '10.0.0.1', port: 7000 });
    expect(members.map(({ name, follows, linked }) => [name, follows, linked])).toEqual([
      ['10.0.0.1:7000', undefined, true],
      ['redis-2.example:7001', undefined, true],
      ['10.0.0.3:7002', 'b2', false],
    ]);
    expect(uncoveredSlots(members)).toEqual({ count: 16_384 - 201, ranges: '201-16383' });
  });

  it('are counts of keys, with nothing of their names but a plain beginning', () => {
    const keys = ['hg:2{a}b:x', 'session:1', 'session:2', 'cache:1', '4111-1111:x', 'tok.en', 'hg:3{a}'];
    expect(countKeys(keys, 'hg:2{', 1)).toEqual({ sampled: 7, ours: 1, lasting: 1, foreign: 6, beginnings: ['session:', 'cache:', 'hg:'] });
  });

  it('are percentiles, and the clock reading of the fastest trip', () => {
    const samples = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect([percentile(samples, 0.5), percentile(samples, 0.99), percentile([7], 0.99)]).toEqual([50, 99, 7]);
    expect(
      bestReading([
        { offsetMs: 1, withinMs: 3 },
        { offsetMs: 2, withinMs: 1 },
      ]),
    ).toEqual({ offsetMs: 2, withinMs: 1 });
  });
});

describe('what the doctor prints', () => {
  const finding = (severity: Finding['severity'], name: string, more: Partial<Finding> = {}): Finding => {
    return { id: 'some-id', severity, node: name, found: 'a thing', why: '', mend: '', ...more };
  };

  it('tells what is the same on several servers once, and names them', () => {
    const text = table([finding('ok', 'a:1'), finding('ok', 'b:2'), finding('warning', 'a:1', { found: 'other' })], {
      width: 80,
      color: false,
    });
    expect(text).toBe('ok       some-id  a:1, b:2: a thing\nwarning  some-id  a:1: other');
  });

  it('has colours only if told, and fits a narrow terminal', () => {
    expect(table([finding('error', 'a:1')], { width: 80, color: true })).toBe('\u001b[31merror\u001b[0m    some-id  a thing');
    const narrow = table([finding('error', 'a:1', { why: 'because it is so, and so it is', mend: 'SET a b' })], {
      width: 24,
      color: false,
    });
    expect(narrow.split('\n')).toEqual([
      'error    some-id',
      '    a thing',
      '    Why: because it is',
      '    so, and so it is',
      '    Mend: SET a b',
    ]);
  });

  it('wraps at spaces, and leaves long words whole', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
    expect(wrap('a redis+cluster://aaaaaaaa b', 6)).toEqual(['a', 'redis+cluster://aaaaaaaa', 'b']);
  });

  it('counts in units that people read, and sorts the worst first', () => {
    expect([0, 1023, 1536, 5 * 1024 ** 3].map(bytes)).toEqual(['0 B', '1023 B', '1.5 KiB', '5.0 GiB']);
    expect([5, 900, 10_800, 864_000].map(seconds)).toEqual(['5 s', '15 min', '3 h', '10 days']);
    const list = [finding('ok', 'a'), finding('error', 'b'), finding('unknown', 'c'), finding('warning', 'd')];
    expect(byWorst(list).map(({ severity }) => severity)).toEqual(['error', 'warning', 'unknown', 'ok']);
    expect([worstOf(list), worstOf([]), worstOf([finding('info', 'a')])]).toEqual(['error', 'ok', 'info']);
  });

  it('shows addresses without user and password', () => {
    for (const [url, shown] of [
      ['redis://h', 'redis://h:6379'],
      ['rediss://hunter2@h:1/5', 'rediss://***@h:1/5'],
      ['redis+cluster://u:p@a:1,[::1]:2', 'redis+cluster://***@a:1,[::1]:2'],
      ['rediss+sentinel://:p@a,b:2/my%20main', 'rediss+sentinel://***@a:26379,b:2/my%20main'],
    ] as const) {
      expect(showRedisAddress(readRedisUrl(url))).toBe(shown);
    }
  });
});
