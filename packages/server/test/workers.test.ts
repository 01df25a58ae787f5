import { Agent } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from '../../../test/support/redis.js';
import { headgate, urlOf, type Run } from './support/command.js';
import { steadyLoad } from './support/load.js';
import { ask, later, rulesFile, temporary } from './support/service.js';

const soon = { timeout: 30_000, interval: 50 };
/** Processes start one after the other, beside other tests. */
const patience = 120_000;
const limit = 100;
const rules = `version: 1\nrules:\n  - { name: few, limit: { fixedWindow: { limit: ${limit}, window: 30d } } }\n  - { name: many, limit: { fixedWindow: { limit: 1000000, window: 30d } } }\n`;

/** The processes that serve, by their log. */
const workersOf = ({ child, log }: Run): number[] => [
  ...new Set(log().flatMap(({ pid, msg }) => (msg === 'rules in force' && pid !== child.pid ? [Number(pid)] : []))),
];

const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const number = (text: string, metric: string): number => Number(new RegExp(`^${metric} (\\S+)$`, 'm').exec(text)?.[1]);

describe('several workers', { timeout: patience }, () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.kill());

  const run = (...flags: string[]): Run => {
    const args = ['--workers', '2', '--http-port', '0', '--redis', redis.url, ...flags];
    return headgate(['serve', ...args], { HEADGATE_DEADLINE: '2s' });
  };
  const check = (url: string, rule: string, key: string) =>
    ask(`${url}/v1/check`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ rule, key }) });

  it('share one limit exactly, count as two of the fleet, take each other’s ids back, and tell their metrics as one', async () => {
    const service = run('--rules', rulesFile(rules));
    const url = await urlOf(service);
    expect(workersOf(service)).toHaveLength(2);
    const answers = [];
    for (let i = 0; i < 10; i += 1) answers.push(...(await Promise.all(Array.from({ length: 20 }, () => check(url, 'few', 'shared')))));
    expect(answers.filter(({ json }) => json.allowed)).toHaveLength(limit);
    expect(answers.some(({ json }) => json.decision.degraded)).toBe(false);

    const ids = answers.flatMap(({ json }) => (json.allowed ? [json.decision.id as string] : [])).slice(0, 6);
    for (const id of ids) {
      const body = JSON.stringify({ id });
      const { status } = await ask(`${url}/v1/refund`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      expect(status).toBe(200);
    }
    await expect.poll(async () => number((await ask(`${url}/metrics`)).text, 'headgate_fleet_size'), soon).toBe(2);
    const { text } = await ask(`${url}/metrics`);
    expect(text).toContain(`headgate_decisions_total{rule="few",outcome="allowed",source="store"} ${limit}`);
    const refused = [...text.matchAll(/headgate_decisions_total\{rule="few",outcome="refused",source="\w+"\} (\d+)/g)];
    expect(refused.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(200 - limit);
    expect([number(text, 'headgate_workers'), number(text, 'headgate_worker_restarts_total'), number(text, 'headgate_rules')]).toEqual([
      2, 0, 2,
    ]);

    const pids = workersOf(service);
    service.child.kill('SIGTERM');
    expect(await service.code).toBe(0);
    expect(pids.filter(lives)).toEqual([]);
  });

  it('go on when one is killed under load; another takes its place, and no counter falls', async () => {
    const service = run('--rules', rulesFile(rules));
    const url = await urlOf(service);
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    later(() => agent.destroy());
    const load = steadyLoad({ urls: [url], agent, perSecond: 100, rule: 'many' });
    const passed = async () => {
      const { text } = await ask(`${url}/metrics`);
      return Number(/headgate_decisions_total\{rule="many",outcome="allowed",source="store"\} (\d+)/.exec(text)?.[1]);
    };
    await expect.poll(passed, soon).toBeGreaterThan(50);
    const [victim = 0] = workersOf(service);
    const before = await passed();
    process.kill(victim, 'SIGKILL');
    expect(await passed()).toBeGreaterThanOrEqual(before);
    await expect.poll(() => workersOf(service).length, soon).toBe(3);
    await expect.poll(async () => number((await ask(`${url}/metrics`)).text, 'headgate_worker_restarts_total'), soon).toBe(1);
    expect(await passed()).toBeGreaterThanOrEqual(before);
    const { asked, answered, failures } = await load.stop();
    // Only what the killed one had in hand.
    expect(failures.length).toBeLessThanOrEqual(8);
    expect(answered).toBe(asked - failures.length);
    expect(service.log().filter(({ event }) => event === 'worker')).toEqual([
      expect.objectContaining({ worker: victim, signal: 'SIGKILL' }),
    ]);
    service.child.kill('SIGTERM');
    expect(await service.code).toBe(0);
  });

  it('go on when one hangs: it is killed, and another takes its place', async () => {
    const service = run('--rules', rulesFile(rules));
    await urlOf(service);
    const [victim = 0] = workersOf(service);
    process.kill(victim, 'SIGSTOP');
    await expect.poll(() => workersOf(service).length, soon).toBe(3);
    expect(lives(victim)).toBe(false);
    expect(service.log().filter(({ event }) => event === 'worker')).toEqual([
      expect.objectContaining({ worker: victim, msg: 'a worker has not answered for 10000 ms and is killed' }),
      expect.objectContaining({ worker: victim, signal: 'SIGKILL' }),
    ]);
    service.child.kill('SIGTERM');
    expect(await service.code).toBe(0);
  });

  it('all follow a change in a database file', async () => {
    const database = ['--database', `sqlite:${join(temporary(), 'headgate.db')}`];
    const imported = headgate(['rules', 'import', rulesFile(rules), ...database]);
    expect(await imported.code, imported.err()).toBe(0);
    const service = run(...database);
    const url = await urlOf(service);
    const body = JSON.stringify({ rule: { limit: { fixedWindow: { limit: 7, window: '1h' } } } });
    const version = (await ask(`${url}/admin/v1/rules`)).headers['etag'] ?? '';
    const headers = { 'content-type': 'application/json', 'if-match': version };
    const put = await ask(`${url}/admin/v1/rules/new`, { method: 'PUT', headers, body });
    expect(put.status, put.text).toBeLessThan(300);
    const informed = () => new Set(service.log().flatMap(({ pid, rules: count }) => (count === 3 ? [pid] : [])));
    await expect.poll(() => informed().size, soon).toBe(2);
    expect((await check(url, 'new', 'k')).json.decision.limit).toBe(7);
  });

  it('end with the fault of the first, told once, if none can start', async () => {
    const service = run('--rules', '/nowhere/rules.yaml');
    expect(await service.code).toBe(78);
    expect(service.err().match(/no such file/g)).toHaveLength(1);
  });

  it('need a store that they share', async () => {
    const service = headgate(['serve', '--workers', '2']);
    expect(await service.code).toBe(78);
    expect(service.err()).toBe(
      '--workers: 2 processes would each have counters of their own; add --redis URL for one limit over all of them, or leave it out\n',
    );
    const odd = headgate(['serve', '--workers', '65']);
    expect(await odd.code).toBe(78);
    expect(odd.err()).toBe('--workers: expected a whole number from 1 to 64, or auto; got "65"\n');
  });
});
