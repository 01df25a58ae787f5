import fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { listen } from '../src/listening.js';
import { ask, later } from './support/service.js';

describe('listening on localhost', () => {
  it('is on all its addresses, with one server behind them, until it stops', async () => {
    const app = fastify();
    later(() => app.close());
    app.get('/', (request) => request.socket.localAddress);
    // 127.0.0.2 stands for ::1, which not every machine has; 192.0.2.1 none has.
    const addresses = ['127.0.0.1', '127.0.0.2', '192.0.2.1'].map((address) => ({ address }));
    const { url, stop } = await listen(app, { host: 'localhost', port: 0 }, { resolve: () => Promise.resolve(addresses) });
    const { port } = new URL(url);
    const at = (host: string) =>
      ask(`http://${host}:${port}/`).then(
        ({ text }) => text,
        ({ code }) => code as string,
      );
    expect([await at('127.0.0.1'), await at('127.0.0.2')]).toEqual(['127.0.0.1', '127.0.0.2']);
    await stop(1000);
    expect([await at('127.0.0.1'), await at('127.0.0.2')]).toEqual(['ECONNREFUSED', 'ECONNREFUSED']);
  });
});
