import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from './support/redis.js';

const root = join(import.meta.dirname, '../examples');
let redis: RedisServer;
let child: ChildProcess | undefined;
beforeAll(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  if (child === undefined || child.exitCode !== null) return;
  child.kill();
  await once(child, 'exit');
});
afterAll(() => redis.stop());

/** Starts an example on a free port, and waits until it says where it listens. */
async function start(file: string, env: Record<string, string> = { REDIS_URL: redis.url }): Promise<string> {
  child = spawn(process.execPath, [join(root, file)], {
    env: { PATH: process.env.PATH, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`${file} ended with ${code}`)));
  ended.catch(() => undefined);
  const [line] = (await Promise.race([once(child.stdout!, 'data'), ended])) as [Buffer];
  return line.toString().trim();
}

const post = async (url: string, json: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(json) });

/** The statuses of so many requests, one after the other. */
async function inTurn(times: number, ask: () => Promise<Response>): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < times; i += 1) statuses.push((await ask()).status);
  return statuses;
}

const frameworks = ['express', 'fastify', 'fetch', 'hono', 'koa', 'nest'];
const recipes = ['llm-tokens', 'login', 'otp', 'outbound-api', 'plans', 'upload-bytes'];

it('are all run here', () => {
  const names = (folder: string): string[] => readdirSync(join(root, folder)).map((file) => file.replace('.mjs', ''));
  expect([names('frameworks').sort(), names('recipes').sort()]).toEqual([frameworks, recipes]);
});

describe.each(frameworks)('the example of %s', (name) => {
  it.each(['memory', 'Redis'])('answers three requests and refuses the fourth, counted in %s', async (where) => {
    const url = await start(`frameworks/${name}.mjs`, where === 'memory' ? {} : undefined);
    const first = await fetch(url);
    expect([first.status, await first.json()]).toEqual([200, { left: 2 }]);
    expect(await inTurn(2, () => fetch(url))).toEqual([200, 200]);
    const refused = await fetch(url);
    expect([refused.status, refused.headers.get('content-type')?.split(';')[0]]).toEqual([429, 'application/problem+json']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('the recipe', () => {
  it('of login lets an account wait after failures, forgets them on success, and leaves other accounts alone', async () => {
    const url = `${await start('recipes/login.mjs')}/login`;
    const wrong = (account: string) => post(url, { account, password: 'guess' });
    expect(await inTurn(3, () => wrong('ada'))).toEqual([401, 401, 401]);
    expect((await post(url, { account: ' Ada', password: 'lovelace' })).status).toBe(200);
    // Forgotten when its response has ended, which its client may see a moment before; what is refused until then takes nothing.
    await expect.poll(async () => (await wrong('ada')).status).toBe(401);
    expect(await inTurn(4, () => wrong('ada'))).toEqual([401, 401, 401, 429]);
    expect((await wrong('bob')).status).toBe(401);
  });

  it('of one-time passwords sends three codes to a number, and lets five tries begin', async () => {
    const url = await start('recipes/otp.mjs');
    expect(await inTurn(4, () => post(`${url}/send`, { number: '+49 170 1234567' }))).toEqual([202, 202, 202, 429]);
    expect(await inTurn(6, () => post(`${url}/try`, { number: '+491701234567', code: 'wrong' }))).toEqual([401, 401, 401, 401, 401, 429]);
  });

  it('of plans gives a free customer 2 at once, and a paying one 20', async () => {
    const url = await start('recipes/plans.mjs');
    const passed = async (key: string) =>
      (await inTurn(21, () => fetch(url, { headers: { 'x-api-key': key } }))).filter((s) => s === 200).length;
    expect([await passed('key-free'), await passed('key-pro')]).toEqual([2, 20]);
    expect((await fetch(url)).status).toBe(401);
  });

  it('of tokens charges what an answer did cost, and refuses what might cost more than is left', async () => {
    const url = `${await start('recipes/llm-tokens.mjs')}/complete`;
    const ask = (words: number) => post(url, { prompt: 'word '.repeat(words).trim() });
    // 401 and more are taken of 1,000 each time, and one word costs one: unsettled, the third would be refused.
    expect(await inTurn(5, () => ask(1))).toEqual([200, 200, 200, 200, 200]);
    expect([(await ask(450)).status, (await ask(450)).status]).toEqual([200, 429]);
  });

  it('of uploads takes a million bytes at once, and no byte more', async () => {
    const url = await start('recipes/upload-bytes.mjs');
    const upload = (bytes: number) => fetch(url, { method: 'POST', body: 'x'.repeat(bytes) });
    expect(await (await upload(900_000)).json()).toEqual({ bytes: 900_000 });
    expect((await upload(900_000)).status).toBe(429);
    expect((await upload(1000)).status).toBe(200);
  });

  it('of calls to a partner never asks too fast, and says at once what would wait too long', async () => {
    const url = await start('recipes/outbound-api.mjs');
    const answers = await Promise.all(Array.from({ length: 40 }, () => fetch(url)));
    const served = answers.filter(({ status }) => status === 200);
    expect(served.length).toBeGreaterThanOrEqual(5);
    expect(answers.filter(({ status }) => status === 503)).toHaveLength(40 - served.length);
    const told = await Promise.all(served.map(async (answer) => ((await answer.json()) as { refused: number }).refused));
    expect(Math.max(...told)).toBe(0);
  });
});
