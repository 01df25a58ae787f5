// Express 4 and 5: three requests a client, one more every ten seconds.
import express from 'express';
import { createLimiter, tokenBucket } from 'headgate';
import { rateLimit } from 'headgate/express';
import { counting, port, tell } from '../store.mjs';

const limiter = createLimiter({ ...counting, rules: { express: { limit: tokenBucket({ capacity: 3, refill: '6/m' }) } } });

const app = express();
app.use(rateLimit({ limiter, rule: 'express' }));
app.get('/', (request, response) => void response.json({ left: request.rateLimit.decision.remaining }));

const server = app.listen(port, '127.0.0.1', () => tell(server));
