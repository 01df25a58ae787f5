import Fastify from 'fastify';
import { concurrency, createLimiter, fixedWindow } from 'headgate';
import { rateLimit } from 'headgate/fastify';
import { expect, it } from 'vitest';

it('requests injected into Fastify end like those of a socket', async () => {
  const limiter = createLimiter({
    rules: {
      exports: { limit: concurrency({ limit: 1, expires: '5m' }) },
      failures: { limit: fixedWindow({ limit: 2, window: '1h', from: 'first-request' }) },
    },
  });
  const app = Fastify();
  app.addHook('onRequest', rateLimit({ limiter, checks: [{ rule: 'exports' }, { rule: 'failures', countWhen: 'failure' }] }));
  app.get('/', () => 'ok');
  for (let i = 0; i < 4; i += 1) {
    expect((await app.inject('/')).statusCode).toBe(200);
    expect((await limiter.peek('failures', '127.0.0.1')).remaining).toBe(2);
  }
});
