// Bytes of uploads: refused before the body is read. Node lets no body be longer than its Content-Length, so that is the true cost.
import { createServer } from 'node:http';
import { createLimiter, tokenBucket } from 'headgate';
import { rateLimit } from 'headgate/express';
import { counting, port, tell } from '../store.mjs';

const limiter = createLimiter({
  ...counting,
  rules: { uploadBytes: { limit: tokenBucket({ capacity: 1_000_000, refill: '10000/s' }) } },
});

const limit = rateLimit({
  limiter,
  rule: 'uploadBytes',
  cost: (request) => Math.max(1, Number(request.headers['content-length'])),
  quotaUnits: { uploadBytes: 'content-bytes' },
});

// The middleware needs nothing of Express.
const server = createServer((request, response) => {
  if (request.headers['content-length'] === undefined) return void response.writeHead(411).end();
  limit(request, response, async (error) => {
    if (error) return void response.writeHead(500).end();
    let bytes = 0;
    for await (const chunk of request) bytes += chunk.length;
    response.end(JSON.stringify({ bytes }));
  });
});
server.listen(port, '127.0.0.1', () => tell(server));
