// One app with one limit, or none, in a process of its own: [framework] [limit] [redis port]. Tells its port.
import { Redis } from 'ioredis';
import { limitsOf } from './limits.mjs';

const [, , framework, limit, redisPort] = process.argv;
const connect = () => new Redis(Number(redisPort), '127.0.0.1');
const put = limitsOf[framework][limit];

async function express() {
  const { default: create } = await import('express');
  const app = create();
  await put(app, connect);
  app.get('/', (_request, response) => void response.json({ ok: true }));
  const server = app.listen(0, '127.0.0.1', () => process.send(server.address().port));
}

async function fastify() {
  const { default: create } = await import('fastify');
  const app = create();
  await put(app, connect);
  app.get('/', async () => ({ ok: true }));
  await app.listen({ port: 0, host: '127.0.0.1' });
  process.send(app.server.address().port);
}

await { express, fastify }[framework]();
process.on('disconnect', () => process.exit());
