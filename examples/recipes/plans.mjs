// Plans: what a customer pays for chooses the numbers, a burst and a month at once, all or nothing.
import express from 'express';
import { createLimiter, quota, tokenBucket } from 'headgate';
import { rateLimit } from 'headgate/express';
import { counting, port, tell } from '../store.mjs';

const limiter = createLimiter({
  ...counting,
  rules: {
    plansBurst: {
      limit: tokenBucket({ capacity: 2, refill: '1/m' }),
      plans: { pro: tokenBucket({ capacity: 20, refill: '10/m' }) },
    },
    plansMonth: {
      limit: quota({ limit: 1000, period: 'month' }),
      plans: { pro: quota({ limit: 1_000_000, period: 'month' }) },
    },
  },
});

const customers = new Map([
  ['key-free', { id: 'customer-1', plan: 'free' }],
  ['key-pro', { id: 'customer-2', plan: 'pro' }],
]);

const app = express();
app.use((request, response, next) => {
  request.customer = customers.get(request.get('x-api-key'));
  if (request.customer === undefined) response.status(401).end();
  else next();
});
const checks = ({ customer: { id: key, plan } }) => ['plansBurst', 'plansMonth'].map((rule) => ({ rule, key, plan }));
app.use(rateLimit({ limiter, checks }));
app.get('/', (request, response) => void response.json({ plan: request.customer.plan }));

const server = app.listen(port, '127.0.0.1', () => tell(server));
