import { describe, expect, it } from 'vitest';
import { doctor, redis, sound } from './support/doctor.js';

const visit = async (servers: readonly string[], more: readonly string[] = ['--json']) =>
  doctor([...servers.flatMap((server) => ['--redis', server]), ...more]);

describe('headgate doctor for several Redis by name', () => {
  it('looks at each, names it in every finding, and ends by the worst of all', async () => {
    const [good, forgetful, leaky] = [await redis(...sound), await redis(), await redis(...sound, '--maxmemory-policy', 'allkeys-lru')];
    const first = await visit([`good=${good.url}`, `forgetful=${forgetful.url}`]);
    const report = JSON.parse(first.out);
    expect({ code: first.code, reached: report.reached, worst: report.worst }).toEqual({ code: 1, reached: true, worst: 'warning' });
    expect(report).not.toHaveProperty('target');
    expect(report.shards).toEqual([
      { shard: 'good', target: good.url, reached: true, worst: 'info' },
      { shard: 'forgetful', target: forgetful.url, reached: true, worst: 'warning' },
    ]);
    for (const { shard, node } of report.findings) {
      expect(node).toBe(shard === 'good' ? `127.0.0.1:${good.port}` : `127.0.0.1:${forgetful.port}`);
    }
    expect(report.findings[0]).toMatchObject({ shard: 'forgetful', severity: 'warning' });
    expect((await visit([`good=${good.url}`, `leaky=${leaky.url}`])).code).toBe(2);
    expect((await visit([`good=${good.url}`])).code).toBe(0);
  });

  it('tells of one that cannot be reached as an error, and ends with 69 only if none can', async () => {
    const { url } = await redis(...sound);
    const one = await visit([`here=${url}`, 'gone=redis://u:hunter2@127.0.0.1:1']);
    const report = JSON.parse(one.out);
    expect([one.code, report.reached, report.shards[1].reached]).toEqual([2, true, false]);
    expect(report.findings[0]).toMatchObject({ id: 'connection', shard: 'gone', severity: 'error' });
    expect(one.out).not.toContain('hunter2');
    expect((await visit(['a=redis://127.0.0.1:1', 'b=redis://127.0.0.1:2'])).code).toBe(69);
  });

  it('prints one table for people, in which what is the same of several is told once', async () => {
    const [a, b] = [await redis(...sound, '--maxmemory-policy', 'allkeys-lru'), await redis(...sound, '--maxmemory-policy', 'allkeys-lru')];
    const { out, code } = await visit([`a=${a.url}`, `b=${b.url}`], []);
    expect(code).toBe(2);
    const lines = out.split('\n');
    expect(lines.slice(0, 3)).toEqual([`a  ${a.url}`, `b  ${b.url}`, '']);
    expect(lines[3]).toBe(`error    maxmemory-policy  a (127.0.0.1:${a.port}), b (127.0.0.1:${b.port}): allkeys-lru`);
    expect(out.match(/allkeys-lru/g)).toHaveLength(1);
    expect(out).toMatch(/\n2 errors?, /);
  });

  it('takes them from the environment, and judges them as the service does', async () => {
    const { url } = await redis(...sound);
    expect((await doctor(['--json'], { HEADGATE_REDIS: `a=${url} b=${url}` })).code).toBe(0);
    const { code, err } = await visit(['redis://h', 'a=redis://u:hunter2@h:x']);
    expect([code, err.trim().split('\n')]).toEqual([
      78,
      [expect.stringMatching(/^--redis number 1 has no name/), expect.stringMatching(/^--redis a: host number 1/)],
    ]);
    expect(err).not.toContain('hunter2');
  });
});
