// An app of its own process, limited by express-rate-limit over Redis: [redis port]. Tells its port, and ends with its parent.
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { headgateStore } from 'headgate/express-rate-limit-store';
import { redisStore } from 'headgate/redis';
import { Redis } from 'ioredis';

const client = new Redis(Number(process.argv[2]), '127.0.0.1');
const store = headgateStore({ store: redisStore({ client }), deadline: '2s', fleetSize: 2 });
const app = express();
app.use(rateLimit({ windowMs: 60_000, limit: 20, store, keyGenerator: () => 'all' }));
app.get('/', (_request, response) => response.send('ok'));
const server = app.listen(0, '127.0.0.1', () => process.send?.(server.address().port));
process.on('disconnect', () => process.exit());
