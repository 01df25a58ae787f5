import { describe, expect, it } from 'vitest';
import { doctor, examined, redis, sound } from './support/doctor.js';

const secret = 'hunter2 with:odd@signs/%';
const encoded = encodeURIComponent(secret);

describe('headgate doctor', () => {
  it('finds nothing wrong with a sound server, and ends with 0', async () => {
    const { url, port, command } = await redis(...sound);
    const { code, target, version, reached, worst, findings, all } = await examined(url);
    expect({ code, target, reached, worst }).toEqual({ code: 0, target: url, reached: true, worst: 'info' });
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    for (const finding of findings) {
      expect(Object.keys(finding).sort()).toEqual(['found', 'id', 'mend', 'node', 'severity', 'why']);
      expect(finding.node).toBe(`127.0.0.1:${port}`);
      expect(finding.id).toMatch(/^[a-z]+(-[a-z]+)*$/);
      if (finding.severity !== 'ok') expect([finding.why, finding.mend]).not.toContain('');
    }
    const looked = findings.map(({ id }) => id);
    expect(new Set(looked).size).toBe(looked.length);
    expect(looked).toEqual(
      expect.arrayContaining(['server-version', 'round-trip', 'check-time', 'persistence', 'acl-commands', 'slow-commands', 'clients']),
    );
    expect(all('check-time')[0]?.found).toMatch(/^p50 \d+\.\d\d ms, p99 \d+\.\d\d ms of \d+ checks/);
    // What it tried things out with is gone.
    await expect.poll(() => command('DBSIZE'), { timeout: 3000 }).toBe(0);
  });

  it('ends with 1 for warnings: no maxmemory, no persistence, and says what a restart forgets', async () => {
    const { url } = await redis();
    const { code, worst, one } = await examined(url);
    expect({ code, worst }).toEqual({ code: 1, worst: 'warning' });
    expect(one('maxmemory')).toMatchObject({ severity: 'warning', mend: expect.stringMatching(/^CONFIG SET maxmemory \d+mb/) });
    expect(one('persistence')).toMatchObject({
      severity: 'warning',
      found: 'none: appendonly no, save ""',
      why: expect.stringContaining('A restart forgets every count'),
      mend: expect.stringContaining('CONFIG SET appendonly yes'),
    });
  });

  it('tells how much the last snapshot may be behind', async () => {
    const { url } = await redis('--save', '3600 1 300 100');
    expect((await examined(url)).one('persistence')).toMatchObject({
      severity: 'warning',
      found: 'snapshots only: appendonly no, save after 60 min with 1 changes, 5 min with 100 changes',
      why: expect.stringContaining('up to 60 min or more'),
    });
  });

  it('ends with 2 where memory that is full drops counters, and its mend works', async () => {
    const { url, command } = await redis(...sound, '--maxmemory-policy', 'volatile-lru');
    const { code, worst, one } = await examined(url);
    expect({ code, worst }).toEqual({ code: 2, worst: 'error' });
    const finding = one('maxmemory-policy');
    expect(finding).toMatchObject({ severity: 'error', found: 'volatile-lru' });
    const [, ...mend] = /^(CONFIG SET \S+ \S+)/.exec(finding?.mend ?? '') ?? [];
    await command(...(mend[0] ?? '').split(' '));
    expect((await examined(url)).one('maxmemory-policy')?.severity).toBe('ok');
  });

  it('sees that a cache shares it: foreign keys, other databases, evicted keys; and shows no key', async () => {
    const { url, command } = await redis('--maxmemory', '6mb', '--maxmemory-policy', 'allkeys-lru', '--appendonly', 'yes');
    await command('EVAL', "for i = 1, 12000 do redis.call('SET', 'session:s3cret' .. i, string.rep('x', 500)) end", 0);
    await command('CONFIG', 'SET', 'maxmemory', '100mb');
    await command('EVAL', "redis.call('SELECT', 3) redis.call('SET', 'a', 1)", 0);
    const { one, findings } = await examined(url);
    expect(one('foreign-keys')).toMatchObject({
      severity: 'warning',
      found: expect.stringMatching(/do not begin with hg:2{, such as session:\*/),
    });
    expect(one('foreign-keys')?.found).toContain('1 key in database 3');
    expect(one('evicted-keys')).toMatchObject({ severity: 'warning', found: expect.stringMatching(/^[\d,]+ keys evicted in the last/) });
    expect(JSON.stringify(findings)).not.toContain('s3cret');
  });

  it('takes keys under its prefix for its own, and sees those that never expire', async () => {
    const { url, command } = await redis(...sound);
    await command('SET', 'hg:2{a}b:search', '0:0', 'PX', 60_000);
    await command('SET', 'hg:2{b}b:search', '0:0');
    const { one } = await examined(url);
    expect(one('foreign-keys')?.severity).toBe('ok');
    expect(one('keys-without-ttl')).toMatchObject({ severity: 'warning', found: '1 of 2 counters' });
    const other = await doctor(['--redis', url, '--json', '--prefix', 'my app']);
    expect(JSON.parse(other.out).findings).toContainEqual(
      expect.objectContaining({ id: 'foreign-keys', found: expect.stringMatching(/^2 of all 2 keys do not begin with my%20app:2{/) }),
    );
  });

  it('prints a table for people: the worst first, wrapped, without colours', async () => {
    const { url } = await redis('--maxmemory-policy', 'allkeys-lru', '--maxmemory', '100mb');
    const { out, code, err } = await doctor(['--redis', url]);
    expect([code, err]).toEqual([2, '']);
    const lines = out.split('\n');
    expect(lines[0]).toBe(url);
    expect(lines[2]).toMatch(/^error {4}maxmemory-policy {2}allkeys-lru$/);
    expect(lines[3]).toMatch(/^ {27}Why: /);
    expect(out).toContain('Mend: CONFIG SET maxmemory-policy noeviction');
    expect(out).toMatch(/\n\n1 error, 1 warning, 1 info, \d+ ok\n$/);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
    expect(out).not.toMatch(/\u001b/);
  });
});

describe('headgate doctor, where no server can be asked', () => {
  it('ends with 69, and says why and what helps, within seconds', async () => {
    const locked = await redis();
    await locked.command('CONFIG', 'SET', 'requirepass', secret);
    const stopped = await redis();
    stopped.pause();
    const plain = await redis();
    const cases: [string, RegExp, RegExp][] = [
      ['redis://127.0.0.1:1', /127\.0\.0\.1:1: nothing listens there/, /Start Redis/],
      ['redis+cluster://127.0.0.1:1,127.0.0.1:2', /127\.0\.0\.1:1: nothing.*127\.0\.0\.1:2: nothing/, /Start Redis/],
      ['redis://no-such-host.invalid', /no-such-host\.invalid:6379: .*(no host|DNS)/, /DNS/],
      [locked.url, /asks for a password/, /redis:\/\/:PASSWORD@HOST/],
      [locked.url.replace('//', `//:${encoded}X@`), /password is wrong/, /%40 for @/],
      [stopped.url, /answers nothing within 2 s/, /stopped/],
      [plain.url.replace('redis:', 'redis+cluster:'), /it is no Cluster/, /Write redis:\/\//],
      [plain.url.replace('redis:', 'rediss:'), /127\.0\.0\.1:\d+: /, /if it speaks no TLS, write redis:\/\//],
    ];
    for (const [url, found, mend] of cases) {
      const since = performance.now();
      const { code, reached, worst, findings, target } = await examined(url);
      expect(performance.now() - since, url).toBeLessThan(6000);
      expect({ code, reached, worst, ids: findings.map(({ id }) => id) }, url).toEqual({
        code: 69,
        reached: false,
        worst: 'error',
        ids: ['connection'],
      });
      expect(findings[0]?.found).toMatch(found);
      expect(findings[0]?.mend).toMatch(mend);
      expect(target).not.toContain('hunter2');
    }
  });

  it('shows no password, whatever happens', async () => {
    const locked = await redis(...sound);
    await locked.command('CONFIG', 'SET', 'requirepass', secret);
    for (const url of [
      locked.url.replace('//', `//:${encoded}@`),
      locked.url.replace('//', `//default:${encoded}@`),
      locked.url.replace('//', `//${encoded}@`),
      locked.url.replace('//', `//ada:${encoded}@`),
      `redis+sentinel://ada:${encoded}@127.0.0.1:1/main`,
      `redis+cluster://ada:${encoded}@127.0.0.1:${locked.port}`,
    ]) {
      for (const args of [['--json'], []]) {
        const { out, err, code } = await doctor(['--redis', url, ...args]);
        expect(out).toContain('://***@127.0.0.1');
        expect(out + err).not.toMatch(/hunter2|odd@signs|odd%40signs/);
        expect([0, 69]).toContain(code);
      }
    }
    expect((await examined(locked.url.replace('//', `//:${encoded}@`))).code).toBe(0);
  });
});

describe('the arguments of headgate doctor', () => {
  it('are judged as those of serve are: 78 and one line, without a secret', async () => {
    const cases = [
      [],
      ['--bogus'],
      ['--redis', 'redis://u:hunter2@h:x'],
      ['redis://u:hunter2@h'],
      ['--redis', 'redis://h', '--prefix', ''],
    ];
    for (const args of cases) {
      const { code, err, out } = await doctor(args);
      expect([code, out, err.trim().split('\n').length], err).toEqual([78, '', 1]);
      expect(err).not.toContain('hunter2');
    }
    expect((await doctor(['--redis', 'redis://h'], { HEADGATE_DEADLINE: 'soon' })).err).toContain('HEADGATE_DEADLINE');
  });

  it('may come from the environment; --help tells of them', async () => {
    const { url } = await redis(...sound);
    expect((await doctor([], { HEADGATE_REDIS: url })).code).toBe(0);
    const help = await doctor(['--help']);
    expect(help.code).toBe(0);
    expect(help.out).toContain('headgate doctor --redis URL');
  });
});
