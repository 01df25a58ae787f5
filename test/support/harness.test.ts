import { afterEach, describe, expect, it } from 'vitest';
import { startRedis, type RedisServer } from './redis.js';

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function redis(): Promise<RedisServer> {
  const server = await startRedis();
  open.push(server.stop);
  return server;
}

describe('startRedis', () => {
  it('answers, forgets at a restart, and stays on its port', async () => {
    const server = await redis();
    expect(await server.command('SET', 'a', 1)).toBe('OK');
    expect(await server.command('GET', 'a')).toBe('1');
    await server.restart();
    expect(await server.command('GET', 'a')).toBeNull();
    await server.kill();
    await expect(server.command('PING')).rejects.toThrow();
  });

  it('pauses without closing, and stops while paused', async () => {
    const server = await redis();
    server.pause();
    const late = server.command('PING');
    const first = await Promise.race([late, new Promise((resolve) => setTimeout(resolve, 100, 'silence'))]);
    expect(first).toBe('silence');
    server.resume();
    expect(await late).toBe('PONG');
    server.pause();
    await server.stop();
  });
});
