import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { describe, expect, it } from 'vitest';
import { nginx, startNginx } from './support/nginx.js';
import { ask, later, start } from './support/service.js';

/** The recipe as docs/service.md has it. */
function recipe(): string {
  const text = readFileSync(new URL('../../../docs/service.md', import.meta.url), 'utf8');
  return /```nginx\n(.*?)```/s.exec(text)?.[1] ?? '';
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  later(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Passes connections on, and counts them. */
async function counted(port: number): Promise<{ port: number; count: () => number }> {
  let count = 0;
  const server = createTcpServer((socket) => {
    count += 1;
    const other = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [socket, other],
      [other, socket],
    ] as const)
      from
        .on('error', () => undefined)
        .on('close', () => to.destroy())
        .pipe(to);
  });
  return { port: await listening(server), count: () => count };
}

const rules = `
version: 1
identify: { trustProxies: 1 } # nginx; the client has the same address here
rules:
  - { name: search, match: { method: GET, path: /search }, key: [apiKey], limit: { fixedWindow: { limit: 2, window: 1h, from: first-request } } }
  - { name: orders, match: { method: POST, path: /orders }, key: [ip], limit: { fixedWindow: { limit: 1, window: 1h, from: first-request } } }
  - { name: shop, match: { host: "*.example.com" }, key: [ip], limit: { fixedWindow: { limit: 1, window: 1h, from: first-request } } }
`;

const found = nginx();
const title = 'file' in found ? '' : ` (skipped: ${found.reason})`;

/** nginx as the documentation sets it up, before a server that says what it got. */
async function behindNginx(): Promise<{ url: string; connections: () => number; passed: string[] }> {
  if (!('file' in found)) throw new Error(found.reason);
  const service = await start({ rules });
  const between = await counted(Number(new URL(service.url).port));
  const passed: string[] = [];
  const app = createServer(({ method, url }, response) => {
    passed.push(`${method} ${url}`);
    response.end('from the app');
  });
  const [upstream, locations] = recipe()
    .split(/(?=location)/s, 1)
    .concat(recipe().replace(/^.*?(?=location)/s, '')) as [string, string];
  const url = await startNginx(
    found.file,
    `${upstream.replace('127.0.0.1:8080', `127.0.0.1:${between.port}`)}
upstream app { server 127.0.0.1:${await listening(app)}; }
server { listen 127.0.0.1:PORT; ${locations} }`,
  );
  passed.length = 0;
  return { url, connections: between.count, passed };
}

describe.skipIf('reason' in found)(`a real nginx that asks the gate, set up as documented${title}`, () => {
  it('passes what may pass, with the limits, and refuses the rest with 429 before it reaches the app', async () => {
    const { url, passed } = await behindNginx();
    const search = () => ask(`${url}/search?q=a`, { headers: { 'x-api-key': 'k' } });
    const first = await search();
    expect([first.status, first.text, first.headers['ratelimit']]).toEqual([200, 'from the app', '"search";r=1;t=3600']);
    await search();
    const refused = await search();
    expect([refused.status, refused.headers['ratelimit']]).toEqual([429, expect.stringMatching(/^"search";r=0;t=\d+$/)]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3500);
    expect(passed).toEqual(['GET /search?q=a', 'GET /search?q=a']);
    const keyless = await ask(`${url}/search`);
    expect([keyless.status, keyless.headers['retry-after']]).toEqual([403, undefined]);
  });

  it("asks by the request's own method, body or not, whatever fields a client adds", async () => {
    const { url } = await behindNginx();
    const order = (headers = {}) => ask(`${url}/orders`, { method: 'POST', body: 'x'.repeat(50_000), headers });
    expect((await order()).status).toBe(200);
    const forged = { 'x-original-uri': '/free', 'x-original-method': 'GET', 'x-forwarded-uri': '/free', 'x-forwarded-for': '6.6.6.6' };
    for (const headers of [{}, forged]) expect((await order(headers)).status).toBe(429);
    expect((await ask(`${url}/orders`)).status).toBe(200);
  });

  it('asks by the host of the request, whatever field a client adds', async () => {
    const { url } = await behindNginx();
    const shop = (headers = {}) => ask(`${url}/`, { headers: { host: 'Shop.Example.com:80', ...headers } });
    expect((await ask(`${url}/`)).headers['ratelimit']).toBeUndefined();
    expect((await shop()).status).toBe(200);
    for (const headers of [{}, { 'x-original-host': 'free.org' }, { 'x-forwarded-host': 'free.org' }])
      expect((await shop(headers)).status).toBe(429);
  });

  it('keeps one connection, whatever the answers are', async () => {
    const { url, connections } = await behindNginx();
    const statuses: number[] = [];
    const before = connections();
    for (let i = 0; i < 10; i += 1) {
      statuses.push((await ask(`${url}/search`, { headers: { 'x-api-key': 'k' } })).status);
      statuses.push((await ask(`${url}/free`)).status, (await ask(`${url}/search`)).status);
    }
    expect([...new Set(statuses)].sort()).toEqual([200, 403, 429]);
    expect([before, connections()]).toEqual([1, 1]);
  });
});
