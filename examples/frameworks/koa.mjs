// Koa 3.
import { createLimiter, tokenBucket } from 'headgate';
import { rateLimit } from 'headgate/koa';
import Koa from 'koa';
import { counting, port, tell } from '../store.mjs';

const limiter = createLimiter({ ...counting, rules: { koa: { limit: tokenBucket({ capacity: 3, refill: '6/m' }) } } });

const app = new Koa();
app.use(rateLimit({ limiter, rule: 'koa' }));
app.use((context) => {
  context.body = { left: context.state.rateLimit.decision.remaining };
});

const server = app.listen(port, '127.0.0.1', () => tell(server));
