// Hono 4 on Node; the same middleware runs where Hono runs, with trustProxies or address where there is no socket.
import { serve } from '@hono/node-server';
import { createLimiter, tokenBucket } from 'headgate';
import { rateLimit } from 'headgate/hono';
import { Hono } from 'hono';
import { counting, port, tell } from '../store.mjs';

const limiter = createLimiter({ ...counting, rules: { hono: { limit: tokenBucket({ capacity: 3, refill: '6/m' }) } } });

const app = new Hono();
app.use(rateLimit({ limiter, rule: 'hono' }));
app.get('/', (context) => context.json({ left: context.get('rateLimit').decision.remaining }));

const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, () => tell(server));
