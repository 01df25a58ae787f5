import { describe, expect, it } from 'vitest';
import { startRedis } from '../../../test/support/redis.js';
import { headgate, urlOf, type Run } from './support/command.js';
import { ask, later, rulesFile } from './support/service.js';

const rules =
  'version: 1\nrules: [{ name: many, match: { path: /many }, key: [apiKey], limit: { fixedWindow: { limit: 1000, window: 1h } } }]\n';
const soon = { timeout: 10_000, interval: 20 };
const pino = { info: 30, warn: 40 };
const env = { HEADGATE_DEADLINE: '2s', HEADGATE_SECRET: 'shared by all servers of a fleet' };

async function redis() {
  const server = await startRedis();
  later(server.kill);
  return server;
}

const serve = (args: readonly string[], more: Record<string, string> = {}): Run =>
  headgate(['serve', '--http-port', '0', '--rules', rulesFile(rules), ...args], { ...env, ...more });

const check = async (url: string, key: string): Promise<boolean> => {
  const { status, json } = await ask(`${url}/v1/check`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ rule: 'many', key }),
  });
  expect(status).toBe(200);
  return json.decision.degraded;
};

/** Lines about the limiter; a line that is no JSON, such as a warning of Node's, fails the test. */
const told = ({ log }: Run) => log().filter(({ event }) => event !== undefined && event !== 'stopping' && event !== 'stopped');

describe('what the limiter tells of itself', () => {
  for (const shard of [undefined, 'a']) {
    it(`is one line when Redis goes and one when it comes back, whatever comes meanwhile (${shard ?? 'without a name'})`, async () => {
      const server = await redis();
      const other = await redis();
      const servers = shard === undefined ? [server.url] : [`a=${server.url}`, `b=${other.url}`];
      const run = serve(servers.flatMap((each) => ['--redis', each]));
      const url = await urlOf(run);
      await expect.poll(async () => (await ask(`${url}/readyz`)).status, soon).toBe(200);
      const keys = Array.from({ length: 50 }, (_, i) => `key-${i}`);
      await Promise.all(keys.map((key) => check(url, key)));
      expect(told(run)).toEqual([]);

      // Under way while it dies, and long after.
      const asked = keys.map((key) => check(url, key));
      await server.kill();
      await Promise.all(asked);
      for (let round = 0; round < 5; round += 1) await Promise.all(keys.map((key) => check(url, key)));
      expect(told(run)).toEqual([
        expect.objectContaining({ level: pino.warn, event: 'unavailable', msg: expect.stringContaining('does not answer') }),
      ]);
      expect(told(run)[0]?.['shard']).toBe(shard);

      await server.restart();
      await expect.poll(async () => (await Promise.all(keys.map((key) => check(url, key)))).includes(true), soon).toBe(false);
      expect(told(run).slice(1)).toEqual([
        expect.objectContaining({ level: pino.info, event: 'available', msg: expect.stringContaining('in use again') }),
      ]);
      expect(told(run)[1]?.['shard']).toBe(shard);
      run.child.kill('SIGTERM');
      expect(await run.code).toBe(0);
      expect(told(run)).toHaveLength(2);
    });
  }

  it('are warnings in the log, never on standard error past it: a fleet that is not known', async () => {
    const run = serve(['--redis', 'redis://127.0.0.1:1']);
    const url = await urlOf(run);
    for (let i = 0; i < 5; i += 1) await check(url, 'k');
    await expect
      .poll(() => told(run).map(({ level, event }) => [level, event]), soon)
      .toEqual(
        expect.arrayContaining([
          [pino.warn, 'fleet-unknown'],
          [pino.warn, 'unavailable'],
        ]),
      );
    expect(told(run)).toHaveLength(2);
  });

  it('warn of limits below the fleet that is set, once; a fleet that is set is known', async () => {
    const run = serve(['--redis', 'redis://127.0.0.1:1', '--fleet-size', '2000']);
    const url = await urlOf(run);
    for (let i = 0; i < 5; i += 1) await check(url, 'k');
    await expect.poll(() => told(run).map(({ event }) => event), soon).toEqual(['limit-below-fleet', 'unavailable']);
    expect(told(run)[0]).toMatchObject({ level: pino.warn, msg: expect.stringContaining('"many"') });
  });
});
