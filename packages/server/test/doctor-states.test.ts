import { rmSync } from 'node:fs';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { neededCommands } from '../src/usecases/doctor/needed.js';
import { doctor, examined, redis, sound } from './support/doctor.js';
import { later, start } from './support/service.js';

const as = (url: string, user: string): string => url.replace('//', `//${user}:hunter2@`);

describe("headgate doctor, of a user's rights", () => {
  it('names each command that is lacking and the rule that adds it; the rule works', async () => {
    const { url, command } = await redis(...sound);
    await command('ACL', 'SETUSER', 'app', 'on', '>hunter2', '~hg:2{*', '+@all', '-evalsha', '-psetex', '-@admin');
    const { code, one } = await examined(as(url, 'app'));
    expect(code).toBe(2);
    const finding = one('acl-commands');
    expect(finding).toMatchObject({ severity: 'error', found: 'user app lacks +evalsha +psetex' });
    expect(one('check-time')).toMatchObject({
      severity: 'error',
      found: expect.stringContaining('NOPERM'),
      mend: expect.stringContaining('acl-commands'),
    });
    const rule = /^(ACL SETUSER [^(]+) \(/.exec(finding?.mend ?? '')?.[1] ?? '';
    expect(rule).toBe('ACL SETUSER app +evalsha +psetex');
    await command(...rule.split(' '));
    expect((await examined(as(url, 'app'))).one('acl-commands')).toMatchObject({
      severity: 'ok',
      found: expect.stringMatching(/^all of \d+ commands, for user app$/),
    });
  });

  it('knows by trying what it may not ask, and says what it could not read', async () => {
    const { url, command } = await redis(...sound);
    const needed = neededCommands({ kind: 'single', database: 0 }, 'hg').map(({ rule }) => rule);
    await command('ACL', 'SETUSER', 'least', 'on', '>hunter2', '~hg:2{*', '-@all', ...needed);
    const least = await examined(as(url, 'least'));
    expect({ code: least.code, worst: least.worst }).toEqual({ code: 0, worst: 'unknown' });
    expect(least.one('acl-commands')).toMatchObject({
      severity: 'ok',
      found: expect.stringMatching(/^all of \d+ commands, for user least$/),
    });
    expect(least.one('check-time')?.severity).toBe('ok');
    expect(least.one('unreadable')).toMatchObject({
      severity: 'unknown',
      found: 'could not read CONFIG GET (not allowed for this user), SLOWLOG (not allowed for this user), SCAN (not allowed for this user)',
      mend: expect.stringContaining('+config|get +slowlog|get +scan'),
    });
    expect(least.one('foreign-keys')?.severity).toBe('unknown');
    await expect.poll(() => command('DBSIZE'), { timeout: 3000 }).toBe(0);

    await command('ACL', 'SETUSER', 'least', '-mget', '-info', 'resetkeys', '~other:*');
    const less = await examined(as(url, 'least'));
    expect(less.code).toBe(2);
    expect(less.one('acl-commands')?.found).toBe('user least lacks ~hg:2{* +mget +info');
    expect(less.one('maxmemory-policy')?.severity).toBe('unknown');
  });

  it('holds for what the service does: who passes, decides; who does not, is degraded', async () => {
    const { url, command } = await redis(...sound);
    await command('ACL', 'SETUSER', 'least', 'on', '>hunter2', '~hg:2{*', '-@all');
    const rules = 'version: 1\nrules: [{ name: a, limit: { fixedWindow: { limit: 5, window: 1h } } }]\n';
    const lacking = (await examined(as(url, 'least'))).one('acl-commands')?.mend ?? '';
    await command(...lacking.slice(0, lacking.indexOf(' (')).split(' '));
    const { get, post } = await start({ rules, redis: as(url, 'least') });
    await expect.poll(async () => (await get('/readyz')).status, { timeout: 5000 }).toBe(200);
    const { json } = await post('/v1/check', { rule: 'a', key: 'k' });
    expect(json.decision).toMatchObject({ degraded: false, source: 'store' });
  });

  it('survives commands that are renamed, and names those that are needed', async () => {
    const { url } = await redis(
      ...sound,
      '--rename-command',
      'CONFIG',
      '',
      '--rename-command',
      'SLOWLOG',
      '',
      '--rename-command',
      'PTTL',
      'p',
    );
    const { code, one } = await examined(url);
    expect(code).toBe(2);
    expect(one('acl-commands')).toMatchObject({ found: 'renamed or disabled: PTTL', mend: expect.stringContaining('rename-command PTTL') });
    expect(one('unreadable')?.found).toContain('CONFIG GET (renamed or disabled on this server)');
    expect(one('idle-timeout')?.severity).toBe('unknown');
    expect(one('persistence')?.severity).toBe('ok');
  });
});

describe('headgate doctor, of a server in a bad state', () => {
  it('tells of memory that is full, and that decisions fail by it', async () => {
    const { url, command } = await redis(...sound);
    await command('SET', 'big', 'x'.repeat(3_000_000));
    await command('CONFIG', 'SET', 'maxmemory', '2mb');
    await command('SET', 'more', 'x').catch(() => undefined);
    const { code, one } = await examined(url);
    expect(code).toBe(2);
    expect(one('memory-used')).toMatchObject({ severity: 'error', why: expect.stringContaining('writes are refused') });
    expect(one('check-time')).toMatchObject({
      severity: 'error',
      found: expect.stringContaining('OOM'),
      mend: expect.stringContaining('memory-used'),
    });
    expect(one('refused-writes')).toMatchObject({ severity: 'warning', found: expect.stringContaining('memory was full (OOM)') });
  });

  it('tells of a script that holds everybody up, and how to end it', async () => {
    const { url, port, command } = await redis(...sound, '--lua-time-limit', '50');
    const runner = new Redis(port, { protocol: 2, retryStrategy: () => null });
    runner.on('error', () => undefined);
    later(() => runner.disconnect());
    const running = runner.call('EVAL', 'while true do end', 0).catch(() => undefined);
    await expect.poll(() => command('PING').catch((error: Error) => error.message), { timeout: 5000 }).toMatch(/BUSY/);
    const { code, reached, one } = await examined(url);
    expect({ code, reached }).toEqual({ code: 2, reached: true });
    expect(one('busy')).toMatchObject({ severity: 'error', mend: expect.stringContaining('SCRIPT KILL') });
    await command('SCRIPT', 'KILL');
    await running;
    // A warning may be left: on a machine that is busy the script's time is in SLOWLOG as slow.
    expect((await examined(url)).findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  it('tells of commands that took longer than a decision may, without their arguments', async () => {
    const { url, command } = await redis(...sound);
    await command('EVAL', "local s = 'top-secret' for i = 1, 3e6 do s = 'a' end", 0);
    const { one, findings, code } = await examined(url, { HEADGATE_DEADLINE: '5ms' });
    expect(code).toBeGreaterThanOrEqual(1);
    expect(one('slow-commands')).toMatchObject({ severity: 'warning', found: expect.stringMatching(/^\d+ in the last 24 h: EVAL \d+ ms/) });
    expect(JSON.stringify(findings)).not.toContain('top-secret');
  });

  it('measures against the deadline', async () => {
    const { url } = await redis(...sound);
    // A decision within a millisecond: the slowest of a hundred come near it, at least.
    const { one } = await examined(url, { HEADGATE_DEADLINE: '1ms' });
    const p99 = Number(/p99 ([\d.]+) ms/.exec(one('check-time')?.found ?? '')?.[1]);
    expect(one('check-time')?.severity === 'ok').toBe(p99 < 0.5);
  });

  it('tells of a disk that fails, and that writes are refused by it', async () => {
    const { url, command } = await redis('--save', '3600 1');
    const [, folder = ''] = (await command('CONFIG', 'GET', 'dir')) as string[];
    expect(folder).toContain('headgate-redis-');
    rmSync(folder, { recursive: true });
    await command('BGSAVE');
    await expect.poll(() => command('INFO', 'persistence'), { timeout: 5000 }).toContain('rdb_last_bgsave_status:err');
    const { code, one } = await examined(url);
    expect(code).toBe(2);
    expect(one('disk-writes')).toMatchObject({
      severity: 'error',
      found: 'the last snapshot failed',
      why: expect.stringContaining('MISCONF'),
    });
    expect(one('check-time')).toMatchObject({ severity: 'error', found: expect.stringContaining('MISCONF') });
  });

  it('tells of settings that cut connections', async () => {
    const { url } = await redis(...sound, '--timeout', '30', '--tcp-keepalive', '0');
    const { one } = await examined(url);
    expect(one('idle-timeout')).toMatchObject({ severity: 'warning', found: 'idle connections are closed after 30 s' });
    expect(one('tcp-keepalive')).toMatchObject({ severity: 'warning', found: 'off' });
  });

  it('tells that a database does not exist: the client would use another', async () => {
    const { url } = await redis(...sound, '--databases', '4');
    expect((await examined(`${url}/3`)).one('database')).toBeUndefined();
    expect((await examined(`${url}/9`)).one('database')).toMatchObject({ severity: 'error', found: 'there is no database 9' });
  });

  it('answers people too while INFO is disabled, without which the client never gets ready', async () => {
    const { url } = await redis(...sound, '--rename-command', 'INFO', '');
    const { out, code } = await doctor(['--redis', url]);
    expect(code).toBe(2);
    expect(out).toContain('could not read INFO (renamed or disabled on this server)');
    expect(out).toContain('renamed or disabled: INFO');
    expect(out).toContain('a check through the library failed');
  });
});
