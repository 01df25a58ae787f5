// One app server: GET / answers 200 or 429. How it counts is its first argument: own, split or headgate.
import { createServer } from 'node:http';
import { createLimiter, fixedWindow, memoryStore } from 'headgate';
import { redisStore } from 'headgate/redis';
import { Redis } from 'ioredis';

const [, , counting, limitText, redisPort] = process.argv;
const limit = fixedWindow({ limit: Number(limitText), window: '1m' });
const redis = counting === 'headgate' ? new Redis(Number(redisPort), '127.0.0.1', { lazyConnect: true }) : undefined;
const limiter = createLimiter({
  store: redis ? redisStore({ client: redis }) : memoryStore(),
  // This machine runs everything at once; a server of your own keeps the 10 ms.
  deadline: '2s',
  rules: { api: { limit } },
});
await limiter.ready();

const server = createServer(async (request, response) => {
  const { allowed, degraded } = await limiter.check('api', String(request.headers['x-client']));
  response.writeHead(allowed ? 200 : 429, { degraded: String(degraded), 'content-length': '0' }).end();
});
server.listen(0, '127.0.0.1', () => process.send?.(server.address().port));
process.on('disconnect', () => process.exit());
