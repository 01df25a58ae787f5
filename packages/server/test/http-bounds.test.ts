import { describe, expect, it } from 'vitest';
import { httpBounds } from '../src/edge/http/bounds.js';
import { raw, type Raw } from './support/raw.js';
import { start } from './support/service.js';

const quick = { headersWithinMs: 400, requestWithinMs: 400, keepAliveMs: 400, standstillMs: 1500, lookEveryMs: 50 };
const healthy = 'GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n';
const posted = (body: string, length = Buffer.byteLength(body)): string =>
  `POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`;
const check = posted('{"rule":"search","key":"k"}');

const statuses = (text: string): number[] => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));

/** Writes a byte now and then, for as long as somebody takes them. */
function drip(connection: Raw, bytes: string, everyMs: number): void {
  let at = 0;
  const timer = setInterval(() => {
    if (connection.isClosed() || connection.socket.writableEnded) clearInterval(timer);
    else connection.socket.write(bytes[at++ % bytes.length] ?? '');
  }, everyMs);
  connection.socket.once('close', () => clearInterval(timer));
}

describe('a client that is slow', () => {
  it.each([
    ['sends nothing', '', undefined],
    ['sends half a line', 'GET /hea', undefined],
    ['drips header fields', 'GET /healthz HTTP/1.1\r\n', 'x: y\r\n'],
    ['drips a body', 'POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n', ' '],
    [
      'drips a body in chunks',
      'POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
      '1\r\n \r\n',
    ],
  ])('%s: it is answered 408 and closed, and the others are served meanwhile', async (_, first, more) => {
    const { url, get } = await start({ bounds: quick });
    const slow = await Promise.all(Array.from({ length: 20 }, () => raw(url)));
    for (const connection of slow) {
      connection.socket.write(first);
      if (more !== undefined) drip(connection, more, 20);
    }
    expect((await get('/healthz')).status).toBe(200);
    await Promise.all(slow.map(({ closed }) => closed));
    for (const { received } of slow) {
      expect(statuses(received())).toEqual([408]);
      expect(received()).toContain('application/problem+json');
    }
  });

  it('drips a body to the gate, which needs none: answered at once, closed in time, with nothing after its answer', async () => {
    const { url } = await start({ bounds: quick });
    const connection = await raw(url);
    connection.socket.write('POST /v1/gate/none HTTP/1.1\r\nhost: a\r\ncontent-length: 60000\r\n\r\n');
    drip(connection, ' ', 20);
    await connection.until(/^HTTP\/1\.1 204/);
    await connection.closed;
    expect(statuses(connection.received())).toEqual([204]);
  });

  it('is idle after its answer: closed without a word', async () => {
    const { url } = await start({ bounds: quick });
    const connection = await raw(url);
    connection.socket.write(healthy);
    await connection.closed;
    expect(statuses(connection.received())).toEqual([200]);
  });

  it('asks and asks, and does not read: it is not read from either, and closed', async () => {
    const { url, get } = await start({ bounds: { standstillMs: 2000 } });
    const connection = await raw(url, { reads: false });
    connection.socket.pause();
    // Long, so that few are read at once: else this process, which is the others' too, does nothing else for a while.
    const asking = `GET /metrics HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(4000)}\r\n\r\n`;
    for (let i = 0; i < 1500; i += 1) connection.socket.write(asking);
    expect((await get('/healthz')).status).toBe(200);
    const before = process.memoryUsage().rss;
    drip(connection, asking, 50);
    await connection.closed;
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
  });
});

describe('a connection half closed', () => {
  it('is answered what it asked before it said that it sends no more', async () => {
    const { url } = await start();
    const connection = await raw(url);
    connection.socket.end(check);
    await connection.closed;
    expect(statuses(connection.received())).toEqual([200]);
  });

  it('in the middle of a request is closed at once', async () => {
    const { url } = await start();
    for (const part of ['POST /v1/check HT', check.slice(0, 60), check.slice(0, -5)]) {
      const connection = await raw(url);
      connection.socket.end(part);
      await connection.closed;
      expect(statuses(connection.received()).every((status) => status === 400)).toBe(true);
    }
  });

  it('that its client resets leaves nothing behind', async () => {
    const { url, get } = await start();
    const before = process.getActiveResourcesInfo().length;
    for (let i = 0; i < 50; i += 1) {
      const connection = await raw(url);
      connection.socket.write(i % 2 === 0 ? check : check.slice(0, -5));
      connection.socket.resetAndDestroy();
    }
    expect((await get('/healthz')).status).toBe(200);
    await expect.poll(() => process.getActiveResourcesInfo().length, { timeout: 5000 }).toBeLessThanOrEqual(before + 2);
  });
});

describe('a body of 10 MB', () => {
  const large = Buffer.alloc(10 * 1024 * 1024, ' ');
  const head = 'POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n';

  it('that says so is refused before it is read', async () => {
    const { url } = await start();
    const connection = await raw(url);
    connection.socket.write(`${head}content-length: ${large.length}\r\n\r\n`);
    await connection.until(/^HTTP\/1\.1 413 .*65536 bytes/s);
  });

  it.each([
    ['with a content-length', [`${head}content-length: ${large.length}\r\n\r\n`, large]],
    ['in one chunk', [`${head}transfer-encoding: chunked\r\n\r\n${large.length.toString(16)}\r\n`, large, '\r\n0\r\n\r\n']],
  ])('%s, of a client that sends all of it before it reads, is a 413, and not kept', async (_, parts) => {
    const { url, get } = await start();
    const before = process.memoryUsage().arrayBuffers;
    const connections = await Promise.all(Array.from({ length: 8 }, () => raw(url)));
    for (const { socket } of connections) for (const part of parts) socket.write(part);
    expect((await get('/healthz')).status).toBe(200);
    await Promise.all(connections.map(({ until }) => until(/^HTTP\/1\.1 413 /)));
    await Promise.all(connections.map(({ closed }) => closed));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
  });

  it('passes the gate, which does not look at it', async () => {
    const { url } = await start();
    const connection = await raw(url);
    connection.socket.write(`POST /v1/gate/none HTTP/1.1\r\nhost: a\r\ncontent-length: ${large.length}\r\n\r\n`);
    connection.socket.write(large);
    connection.socket.write(healthy);
    await connection.until(/^HTTP\/1\.1 204 .*HTTP\/1\.1 200 /s);
  });
});

describe('header fields', () => {
  it('of more than 16 KiB are a 431', async () => {
    const { url } = await start();
    const connection = await raw(url);
    connection.socket.write(`GET /healthz HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(httpBounds.largestHead)}\r\n\r\n`);
    await connection.until(/^HTTP\/1\.1 431 .*application\/problem\+json/s);
  });

  it('of more than 16 KiB of a HEAD are a 431 without a body', async () => {
    const { url } = await start();
    const connection = await raw(url);
    connection.socket.write(`HEAD /healthz HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(httpBounds.largestHead)}\r\n\r\n`);
    await connection.closed;
    expect(connection.received()).toMatch(/^HTTP\/1\.1 431 .*\r\n\r\n$/s);
  });

  it('are all looked at: what a gateway adds last counts, however many its client sent before', async () => {
    const rules =
      'version: 1\nrules: [{ name: none, match: { path: /closed }, key: ["*"], limit: { fixedWindow: { limit: 0, window: 1h } } }]';
    const { url } = await start({ rules });
    const connection = await raw(url);
    const many = Array.from({ length: 1500 }, (_, index) => `a${index}:\r\n`).join('');
    connection.socket.write(`GET /v1/gate HTTP/1.1\r\nhost: a\r\n${many}x-original-uri: /closed\r\n\r\n`);
    await connection.until(/^HTTP\/1\.1 429 /);
  });

  it('that HTTP/1.1 asks for, or that ask for too much, are a problem like any other', async () => {
    const { url } = await start();
    for (const [text, status] of [
      ['GET /healthz HTTP/1.1\r\n\r\n', 400],
      ['GET /healthz HTTP/1.1\r\nhost: a\r\nexpect: tea\r\n\r\n', 417],
      [`${check.slice(0, -27).replace('27', '7')}`.replace('content-length: 7', 'content-length: 7\r\ntransfer-encoding: chunked'), 400],
    ] as const) {
      const connection = await raw(url);
      connection.socket.write(text);
      expect(await connection.until(/\}$/)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*application/problem\\+json`, 's'));
    }
  });
});

describe('many requests on one connection', () => {
  it('are 10,000 at once: each is answered, in order', async () => {
    const { url, get } = await start();
    const connection = await raw(url);
    for (let i = 0; i < 10; i += 1) connection.socket.write((healthy + check).repeat(500));
    expect((await get('/healthz')).status).toBe(200);
    connection.socket.end();
    await connection.closed;
    expect(statuses(connection.received()).filter((status) => status === 200)).toHaveLength(10_000);
  });

  it('are answered before what is no HTTP after them is', async () => {
    const { url } = await start();
    const connection = await raw(url);
    connection.socket.write(`${check}${healthy}nonsense\r\n\r\n`);
    await connection.closed;
    expect(statuses(connection.received())).toEqual([200, 200, 400]);
  });
});

describe('many connections', () => {
  it('are 10,000 by default', () => {
    expect(httpBounds.mostConnections).toBe(10_000);
  });

  it('above the bound are closed at once; those within are served; freed ones are there for others', async () => {
    const { url } = await start({ bounds: { mostConnections: 30 } });
    const kept = await Promise.all(Array.from({ length: 30 }, () => raw(url)));
    for (const connection of kept) {
      connection.socket.write(healthy);
      await connection.until(/"ok"/);
    }
    const refused = await Promise.all(Array.from({ length: 100 }, () => raw(url)));
    await Promise.all(refused.map(({ closed }) => closed));
    expect(refused.every(({ received }) => received() === '')).toBe(true);
    kept[0]?.socket.write(check);
    expect(await kept[0]?.until(/"allowed":true/)).toBeDefined();
    kept[1]?.socket.destroy();
    const served = async (): Promise<boolean> => {
      const connection = await raw(url);
      connection.socket.write(healthy);
      return connection.until(/"ok"/).then(
        () => true,
        () => false,
      );
    };
    await expect.poll(served).toBe(true);
  });

  it('that are idle cost little, are freed, and nobody waits for them', async () => {
    const { url, get } = await start({ bounds: quick });
    const idle = await Promise.all(Array.from({ length: 500 }, () => raw(url)));
    for (const { socket } of idle) socket.write(healthy);
    await Promise.all(idle.map(({ until }) => until(/"ok"/)));
    expect((await get('/healthz')).status).toBe(200);
    await Promise.all(idle.map(({ closed }) => closed));
  });
});
