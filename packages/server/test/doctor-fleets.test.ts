import { describe, expect, it } from 'vitest';
import { startCluster, type RedisCluster } from '../../../test/support/cluster.js';
import { startSentinel } from '../../../test/support/sentinel.js';
import { examined, redis, sound } from './support/doctor.js';
import { later } from './support/service.js';

const timeout = { timeout: 60_000 };

describe('headgate doctor, of a master and its replicas', () => {
  it('examines them, their links, their lag and their clocks', timeout, async () => {
    const master = await redis(...sound, '--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1');
    const replica = await redis(...sound, '--replicaof', '127.0.0.1', `${master.port}`);
    await expect.poll(() => replica.command('INFO', 'replication'), { timeout: 10_000 }).toContain('master_link_status:up');
    await expect.poll(() => master.command('INFO', 'replication'), { timeout: 10_000 }).toContain('state=online');
    const { code, one, findings } = await examined(master.url);
    expect(findings.filter(({ severity }) => severity === 'warning' || severity === 'error')).toEqual([]);
    expect(code).toBe(0);
    expect(one('replicas')).toMatchObject({
      node: `127.0.0.1:${master.port}`,
      found: expect.stringMatching(/^127\.0\.0\.1:\d+: online, \d+ B behind/),
    });
    expect(one('replica-link')).toMatchObject({ severity: 'ok', node: `127.0.0.1:${replica.port}` });
    expect(one('replica-clock')).toMatchObject({
      severity: 'ok',
      found: expect.stringMatching(/^\d+\.\d ms (behind|ahead of) its master/),
    });
    expect(one('failover-loss')).toMatchObject({ severity: 'info', mend: expect.stringContaining('min-replicas-to-write 1') });

    await master.command('CONFIG', 'SET', 'min-replicas-to-write', '1');
    expect((await examined(master.url)).one('failover-loss')?.severity).toBe('ok');

    replica.pause();
    await expect.poll(() => master.command('INFO', 'replication'), { timeout: 15_000 }).toMatch(/lag=[4-9]/);
    const paused = await examined(master.url);
    expect(paused.one('replicas')).toMatchObject({ severity: 'warning', found: expect.stringMatching(/last heard \d+ s ago/) });
    expect(paused.one('answers')).toMatchObject({
      severity: 'warning',
      node: `127.0.0.1:${replica.port}`,
      found: expect.stringContaining('no answer in time'),
    });
    replica.resume();
  });

  it('tells that a URL names a replica, and which master to name; and that its link is down', timeout, async () => {
    const gone = await redis();
    await gone.stop();
    const replica = await redis(...sound, '--replicaof', '127.0.0.1', `${gone.port}`);
    const { code, one } = await examined(replica.url);
    expect(code).toBe(2);
    expect(one('topology')).toMatchObject({ severity: 'error', mend: `Name the master: redis://127.0.0.1:${gone.port}` });
    expect(one('replica-link')).toMatchObject({ severity: 'warning', found: expect.stringMatching(/^down/) });
  });
});

describe('headgate doctor, through sentinels', () => {
  it('examines the master and the replicas that Sentinel knows; a replica that lost its master is told', timeout, async () => {
    const { sentinel, name, master, replica, stop } = await startSentinel();
    later(stop);
    const url = `redis+sentinel://127.0.0.1:${sentinel.port},127.0.0.1:1/${name}`;
    const { one, all, target } = await examined(url);
    expect(target).toBe(url);
    expect(all('server-version').map(({ node }) => node)).toEqual([`127.0.0.1:${master.port}`, `127.0.0.1:${replica.port}`]);
    expect(one('address')).toMatchObject({ severity: 'warning', node: '127.0.0.1:1', found: 'nothing listens there' });
    expect(one('sentinel-quorum')).toMatchObject({ severity: 'warning', found: '1 sentinel, quorum 1' });
    expect(one('check-time')?.severity).toBe('ok');
    expect(one('topology')?.found).toBe('master, as redis+sentinel:// expects');

    await replica.command('CONFIG', 'SET', 'masteruser', 'nobody');
    await replica.command('CONFIG', 'SET', 'masterauth', 'wrong');
    await replica.command('CLIENT', 'KILL', 'TYPE', 'master');
    await expect.poll(() => replica.command('INFO', 'replication'), { timeout: 10_000 }).toContain('master_link_status:down');
    expect((await examined(url)).one('replica-link')).toMatchObject({
      severity: 'warning',
      node: `127.0.0.1:${replica.port}`,
      mend: expect.stringContaining('masterauth'),
    });

    await replica.kill();
    await expect
      .poll(async () => (await examined(url)).one('sentinel-replica')?.found, { timeout: 20_000, interval: 500 })
      .toBe('for Sentinel it is down');
  });

  it('tells of a name that the sentinels do not know, and of a sentinel that is asked for keys', timeout, async () => {
    const { sentinel, stop } = await startSentinel();
    later(stop);
    const unknown = await examined(`redis+sentinel://127.0.0.1:${sentinel.port}/nobody`);
    expect([unknown.code, unknown.one('connection')?.found]).toEqual([69, expect.stringContaining('no master of that name')]);
    const wrong = await examined(`redis://127.0.0.1:${sentinel.port}`);
    expect([wrong.code, wrong.one('topology')?.found]).toEqual([2, 'this is a sentinel']);
  });
});

describe('headgate doctor, of a Cluster', () => {
  async function cluster(options: Parameters<typeof startCluster>[0]): Promise<RedisCluster & { url: string }> {
    const started = await startCluster(options);
    later(started.stop);
    return { ...started, url: `redis+cluster://${started.nodes.map(({ host, port }) => `${host}:${port}`).join(',')}` };
  }

  it('examines every node, and measures a check on each master', timeout, async () => {
    const { url, nodes } = await cluster({ masters: 3, replicas: 1 });
    const { one, all, findings, code } = await examined(url);
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(code).toBe(1);
    expect(one('cluster-state')?.severity).toBe('ok');
    expect(one('cluster-slots')).toMatchObject({ severity: 'ok', found: 'all 16,384 served' });
    expect(one('cluster-require-full-coverage')?.severity).toBe('ok');
    expect(all('server-version')).toHaveLength(6);
    expect(all('replica-link').map(({ severity }) => severity)).toEqual(['ok', 'ok', 'ok']);
    expect(all('master-without-replica')).toEqual([]);
    const masters = nodes.slice(0, 3).map(({ host, port }) => `${host}:${port}`);
    expect(new Set(all('check-time').map(({ node, severity }) => `${node} ${severity}`))).toEqual(
      new Set(masters.map((name) => `${name} ok`)),
    );
    expect(one('acl-commands')?.found).toMatch(/^all of \d+ commands, for user default$/);
    const single = await examined(`redis://127.0.0.1:${nodes[0]?.port}`);
    expect(single.one('topology')).toMatchObject({ severity: 'error', mend: 'Write redis+cluster:// instead.' });
  });

  it('tells of slots that nobody serves, of masters without a replica, and of full coverage', timeout, async () => {
    const { url, nodes } = await cluster({ masters: 3 });
    expect((await examined(url)).all('master-without-replica')).toHaveLength(3);
    for (const node of nodes) await node.command('CONFIG', 'SET', 'cluster-require-full-coverage', 'yes');
    await nodes[1]?.command('CLUSTER', 'DELSLOTS', 6000, 6001, 6002, 7000);
    await expect.poll(() => nodes[1]?.command('CLUSTER', 'INFO'), { timeout: 10_000 }).toContain('cluster_state:fail');
    const { code, one } = await examined(`redis+cluster://127.0.0.1:${nodes[1]?.port}`);
    expect(code).toBe(2);
    expect(one('cluster-slots')).toMatchObject({ severity: 'error', found: expect.stringContaining('held by nobody (') });
    expect(one('cluster-slots')?.found).toContain('6000-6002, 7000');
    expect(one('cluster-state')).toMatchObject({ severity: 'error', found: 'fail' });
    expect(one('cluster-require-full-coverage')).toMatchObject({ severity: 'warning', found: 'yes' });
  });

  it('tells of a master that is gone, and goes on with the others', timeout, async () => {
    const { url, nodes } = await cluster({ masters: 3 });
    const lost = nodes[2];
    await lost?.kill();
    await expect.poll(() => nodes[0]?.command('CLUSTER', 'NODES'), { timeout: 15_000 }).toMatch(/master,fail /);
    const { code, one, all } = await examined(url);
    expect(code).toBe(2);
    const name = `127.0.0.1:${lost?.port}`;
    expect(one('cluster-node')).toMatchObject({ severity: 'error', node: name, found: 'master: fail' });
    expect(one('cluster-slots')).toMatchObject({ severity: 'error', found: expect.stringMatching(/^5,46\d slots of masters that failed/) });
    expect(one('answers')).toMatchObject({ severity: 'error', node: name });
    expect(one('address')).toMatchObject({ severity: 'warning', node: name });
    expect(all('check-time').filter(({ severity }) => severity === 'ok')).toHaveLength(2);
  });
});
