import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, fixedWindow } from 'headgate';
import { redisStore } from 'headgate/redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headgate, urlOf, type Run } from '../../packages/server/test/support/command.js';
import { steadyLoad, type Load } from '../../packages/server/test/support/load.js';
import { ask, later, rulesFile } from '../../packages/server/test/support/service.js';
import { freePort, startRedis, type RedisServer } from '../support/redis.js';

const exact = { capacity: 20, refill: 20 };
const leased = { capacity: 200, refill: 50 };
/** More than is asked for: what it has used afterwards is what passed, if all leases came back. */
const month = fixedWindow({ limit: 1_000_000, window: '30d' });
const rules = `version: 1
rules:
  - { name: exact, limit: { tokenBucket: { capacity: ${exact.capacity}, refill: ${exact.refill}/s } } }
  - { name: leased, mode: lease, limit: { tokenBucket: { capacity: ${leased.capacity}, refill: ${leased.refill}/s } } }
  - { name: month, mode: lease, limit: { fixedWindow: { limit: ${month.limit}, window: 30d } } }
`;
/** Checks a second; of the first two rules more than they let pass. */
const paces = { exact: 60, leased: 120, month: 100 };
const lookEveryMs = 100;

interface Running {
  readonly run: Run;
  readonly url: string;
}

describe('a rolling restart of three servers under load', { timeout: 120_000 }, () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.kill());

  async function serve(port: number, file: string): Promise<Running> {
    const args = ['serve', '--http-port', String(port), '--redis', redis.url, '--rules', file, '--drain', '2s'];
    const run = headgate(args, { HEADGATE_DEADLINE: '2s', HEADGATE_SECRET: 'the same on all three' });
    return { run, url: await urlOf(run) };
  }

  /** As a load balancer does: who is not ready gets nothing new. */
  function balance(urls: readonly string[], loads: readonly Load[]): void {
    const looks = urls.map((url) =>
      setInterval(() => {
        void ask(`${url}/readyz`).then(
          ({ status }) => loads.forEach((load) => load[status === 200 ? 'enter' : 'leave'](url)),
          () => loads.forEach((load) => load.leave(url)),
        );
      }, lookEveryMs),
    );
    later(() => looks.forEach(clearInterval));
  }

  it('fails no request, lets nothing pass beyond the limits, and gives all leases back', async () => {
    const file = rulesFile(rules);
    const ports = [await freePort(), await freePort(), await freePort()];
    const running = await Promise.all(ports.map((port) => serve(port, file)));
    const urls = running.map(({ url }) => url);
    const agents = Object.keys(paces).map(() => new Agent({ keepAlive: true }));
    later(() => agents.forEach((agent) => agent.destroy()));
    const begun = performance.now();
    const loads = Object.entries(paces).map(([rule, perSecond], index) =>
      steadyLoad({ urls, agent: agents[index] ?? new Agent(), perSecond, rule }),
    );
    balance(urls, loads);

    for (const [index, port] of ports.entries()) {
      await sleep(500);
      running[index]?.run.child.kill('SIGTERM');
      expect(await running[index]?.run.code).toBe(0);
      running[index] = await serve(port, file);
    }
    await sleep(500);
    const said = await Promise.all(loads.map((load) => load.stop()));
    const seconds = (performance.now() - begun) / 1000;
    for (const { run } of running) run.child.kill('SIGTERM');
    expect(await Promise.all(running.map(({ run }) => run.code))).toEqual([0, 0, 0]);

    const [byExact, byLeased, byMonth] = said;
    const used = await usedInMonth();
    console.log(
      `rolling restart: ${said.reduce((sum, { asked }) => sum + asked, 0)} checks in ${seconds.toFixed(1)} s, ` +
        `${said.reduce((sum, { failures }) => sum + failures.length, 0)} failed; exact ${byExact?.allowed} of ${(exact.capacity + exact.refill * seconds).toFixed(0)}, ` +
        `leased ${byLeased?.allowed} of ${(leased.capacity + leased.refill * seconds).toFixed(0)}; month ${byMonth?.allowed} passed, ${used} used`,
    );
    expect(said.flatMap(({ failures }) => failures)).toEqual([]);
    expect(said.map(({ degraded }) => degraded)).toEqual([0, 0, 0]);
    expect(said.every(({ asked, answered }) => asked === answered)).toBe(true);
    expect(byExact?.allowed).toBeLessThanOrEqual(exact.capacity + exact.refill * seconds);
    expect(byExact?.allowed).toBeGreaterThan(0.8 * (exact.capacity + exact.refill * seconds));
    expect(byLeased?.allowed).toBeLessThanOrEqual(leased.capacity + leased.refill * seconds);
    expect(byMonth?.allowed).toBe(byMonth?.asked);
    expect(used).toBe(byMonth?.allowed);
  });

  /** As Redis has it, when nobody holds a lease any more. */
  async function usedInMonth(): Promise<number> {
    const limiter = createLimiter({
      store: redisStore({ client: new Redis(redis.url, { lazyConnect: true }) }),
      deadline: '2s',
      onEvent: () => undefined,
      rules: { month: { limit: month } },
    });
    try {
      await limiter.ready();
      const { degraded, limit, remaining } = await limiter.peek('month', 'k');
      expect(degraded).toBe(false);
      return limit - remaining;
    } finally {
      await limiter.close();
    }
  }
});
