// A handler from Request to Response, as Next.js and others have them. A Request has no socket: clients are told apart by their API key.
import { serve } from '@hono/node-server';
import { createLimiter, tokenBucket } from 'headgate';
import { rateLimit } from 'headgate/fetch';
import { counting, port, tell } from '../store.mjs';

const limiter = createLimiter({ ...counting, rules: { fetch: { limit: tokenBucket({ capacity: 3, refill: '6/m' }) } } });

const limit = rateLimit({ limiter, rule: 'fetch', key: (request) => request.headers.get('x-api-key') ?? 'anonymous' });
const GET = limit((request) => Response.json({ left: limit.of(request).decision.remaining }));

const server = serve({ fetch: GET, port, hostname: '127.0.0.1' }, () => tell(server));
