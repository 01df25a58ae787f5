// Calls to a partner that limits us: each waits for its turn, over all our processes; what would wait too long is answered 503 at once.
import { createServer } from 'node:http';
import { createLimiter, OutboundError, tokenBucket } from 'headgate';
import { counting, port, tell } from '../store.mjs';

// The partner, who allows 5 at once and 10 a second, and counts whom he had to refuse.
const theirs = createLimiter({ rules: { all: { limit: tokenBucket({ capacity: 5, refill: '10/s' }) } } });
let refused = 0;
const partner = createServer(async (_request, response) => {
  const { allowed } = await theirs.check('all', 'us');
  if (!allowed) refused += 1;
  response.writeHead(allowed ? 200 : 429, allowed ? {} : { 'retry-after': '1' }).end();
});
await new Promise((resolve) => partner.listen(0, '127.0.0.1', resolve));

// A little less than he allows: on the way, calls may catch up with each other.
const rules = { outbound: { limit: tokenBucket({ capacity: 3, refill: '8/s' }) } };
const call = createLimiter({ ...counting, rules }).fetch('outbound', 'partner', { maxWait: '1s', deadline: '5s' });

const server = createServer(async (_request, response) => {
  try {
    const { status } = await call(`http://127.0.0.1:${partner.address().port}/orders`);
    response.writeHead(status).end(JSON.stringify({ refused }));
  } catch (error) {
    const retryAfter = error instanceof OutboundError ? Math.ceil(error.decision.retryAfterMs / 1000) : 1;
    response.writeHead(503, { 'retry-after': String(Math.max(1, retryAfter)) }).end();
  }
});
server.listen(port, '127.0.0.1', () => tell(server));
