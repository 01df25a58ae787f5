/**
 * What compiles and what does not, against the frameworks' own types: `npm run test:types` reads this file, nothing runs it.
 */
import express, { type Request } from 'express';
import express4 from 'express4';
import Fastify, { type FastifyRequest } from 'fastify';
import { createLimiter, fixedWindow, tokenBucket, type Decision } from 'headgate';
import { rateLimit } from 'headgate/express';
import { rateLimit as rateLimitFastify } from 'headgate/fastify';
import { rateLimit as rateLimitFetch } from 'headgate/fetch';
import { rateLimit as rateLimitHono } from 'headgate/hono';
import { rateLimit as rateLimitKoa } from 'headgate/koa';
import { rateLimit as rateLimitNest, RateLimit } from 'headgate/nest';
import { Hono } from 'hono';
import Koa, { type Context } from 'koa';

const limit = fixedWindow({ limit: 5, window: '1m' });
const limiter = createLimiter({
  rules: {
    search: { limit: tokenBucket({ capacity: 20, refill: '2/s' }), plans: { pro: limit, team: limit } },
    login: { limit, plans: { free: limit } },
    perIp: { limit },
  },
});
type Rule = 'search' | 'login' | 'perIp';

export const right = [
  rateLimit({ limiter, rule: 'search' }),
  rateLimit({ limiter, rule: 'search', plan: 'pro' }),
  rateLimit({ limiter, rule: 'login', plan: async () => 'free' as const }),
  rateLimit({ limiter, rule: (req) => (req.path === '/login' ? 'login' : 'search'), key: (req) => req.get('x-api-key') ?? 'anonymous' }),
  rateLimit({ limiter, checks: [{ rule: 'perIp' }, { rule: 'search', key: 'everybody', plan: 'team', cost: 2 }] }),
  rateLimit({ limiter, checks: (req) => [{ rule: 'perIp' }, { rule: 'login', key: req.body.account }] }),
  rateLimit({ limiter, checks: async (req) => [{ rule: 'login', key: String(req.params['account']), countWhen: 'failure' }] }),
  rateLimit({ limiter, rule: 'search', countWhen: ({ status, aborted }) => status === 401 || aborted }),
  rateLimit({ limiter, rule: 'search', headers: ['draft-11', 'x-ratelimit'], quotaUnits: { search: 'content-bytes' } }),
  // A limiter whose rules come from elsewhere takes any name.
  rateLimit({ limiter: createLimiter({ rules: {} as Record<string, { limit: typeof limit }> }), rule: 'anything', plan: 'any' }),
];

export const wrong = [
  // @ts-expect-error - an unknown rule
  rateLimit({ limiter, rule: 'serach' }),
  // @ts-expect-error - an unknown rule, by a function
  rateLimit({ limiter, rule: () => 'serach' }),
  // @ts-expect-error - an unknown rule among checks
  rateLimit({ limiter, checks: [{ rule: 'perIp' }, { rule: 'serach' }] }),
  // @ts-expect-error - an unknown rule among checks, by a function
  rateLimit({ limiter, checks: () => [{ rule: 'serach' }] }),
  // @ts-expect-error - a plan that no rule has
  rateLimit({ limiter, rule: 'search', plan: 'por' }),
  // @ts-expect-error - a plan that no rule has, by a function
  rateLimit({ limiter, rule: 'search', plan: () => 'por' }),
  // @ts-expect-error - a plan that no rule has, among checks
  rateLimit({ limiter, checks: () => [{ rule: 'search', plan: 'por' }] }),
  // @ts-expect-error - a key that may be missing
  rateLimit({ limiter, rule: 'search', key: (req) => req.get('x-api-key') }),
  // @ts-expect-error - a key that may be missing, among checks
  rateLimit({ limiter, checks: (req) => [{ rule: 'search', key: req.get('x-api-key') }] }),
  // @ts-expect-error - a key that is no text
  rateLimit({ limiter, rule: 'search', key: () => 42 }),
  // @ts-expect-error - a cost that is no number
  rateLimit({ limiter, rule: 'search', cost: '3' }),
  // @ts-expect-error - both rule and checks
  rateLimit({ limiter, rule: 'search', checks: [{ rule: 'perIp' }] }),
  // @ts-expect-error - neither rule nor checks
  rateLimit({ limiter }),
  // @ts-expect-error - no limiter
  rateLimit({ rule: 'search' }),
  // @ts-expect-error - a way to count that does not exist
  rateLimit({ limiter, rule: 'search', countWhen: 'error' }),
  // @ts-expect-error - a format that does not exist
  rateLimit({ limiter, rule: 'search', headers: 'draft-12' }),
  // @ts-expect-error - the unit of an unknown rule
  rateLimit({ limiter, rule: 'search', quotaUnits: { serach: 'content-bytes' } }),
  // @ts-expect-error - an option that does not exist
  rateLimit({ limiter, rule: 'search', windowMs: 60_000 }),
  // @ts-expect-error - so in each framework
  rateLimitFastify({ limiter, rule: 'serach' }),
  // @ts-expect-error - so in each framework
  rateLimitKoa({ limiter, rule: 'serach' }),
  // @ts-expect-error - so in each framework
  rateLimitHono({ limiter, rule: 'serach' }),
  // @ts-expect-error - so in each framework
  rateLimitFetch({ limiter, rule: 'serach' }),
  // @ts-expect-error - so in each framework
  rateLimitNest({ limiter, rule: 'serach' }),
  // @ts-expect-error - so in each framework
  RateLimit({ limiter, rule: 'serach' }),
];

export async function limiterItself(): Promise<void> {
  await limiter.check('search', 'key', { plan: 'pro' });
  // @ts-expect-error - a plan that no rule has
  await limiter.check('search', 'key', { plan: 'por' });
  // @ts-expect-error - a plan that no rule has, in a group
  await limiter.checkAll([{ rule: 'search', key: 'key', plan: 'por' }]);
  // @ts-expect-error - a missing key, in a group
  await limiter.checkAll([{ rule: 'search' }]);
}

export function expressApps(): void {
  const search = rateLimit({ limiter, rule: 'search' });
  const app = express();
  app.use(search);
  app.use('/api', rateLimit({ limiter, rule: 'perIp', skip: (req: Request) => req.ip === '::1' }));
  app.post('/login/:account', express.json(), search, (req, res) => {
    const left: number | undefined = req.rateLimit?.decision.remaining;
    const rule: Rule | undefined = search.of(req)?.decision.rule;
    const decisions: readonly Decision<Rule>[] | undefined = search.of(req)?.decisions;
    void search.of(req)?.settle('search', 3);
    // @ts-expect-error - an unknown rule
    void search.of(req)?.settle('serach', 3);
    res.json({ left, rule, decisions, account: req.params.account });
  });
  express4()
    .use(search)
    .get('/', search, (_req, res) => void res.end());
  rateLimit({
    limiter,
    rule: 'search',
    onRefused: ({ status, problem, info }, { response }) => response.end(`${status} ${problem.title} ${info?.decision.rule}`),
  });
}

/** One annotated callback is enough. */
export const annotated = rateLimit({
  limiter,
  rule: 'search',
  skip: (req: Request) => req.ip === '::1',
  onRefused: (_refusal, { request, response }) => response.end(request.ip),
});

export function fastifyApp(): void {
  const app = Fastify();
  const search = rateLimitFastify({ limiter, rule: 'search', key: (request) => String(request.headers['x-api-key']) });
  app.addHook('onRequest', search);
  app.post<{ Body: { account: string }; Params: { id: string } }>(
    '/login/:id',
    { preHandler: [search, rateLimitFastify({ limiter, rule: 'login', key: (request) => request.body.account })] },
    async (request) => ({
      left: request.rateLimit?.decision.remaining,
      rule: search.of(request)?.decision.rule satisfies Rule | undefined,
    }),
  );
  app.get(
    '/',
    { onRequest: rateLimitFastify({ limiter, rule: 'search', skip: (request: FastifyRequest) => request.ip === '::1' }) },
    () => 'ok',
  );
  // A route without types of its own: nothing but the option says what a request is.
  app.post('/', { preHandler: rateLimitFastify({ limiter, rule: 'login', key: (request) => request.body.account }) }, () => 'in');
}

export function koaApp(): void {
  const search = rateLimitKoa({ limiter, rule: 'search', key: (ctx) => ctx.state.user.id as string });
  const app = new Koa();
  app.use(search);
  app.use(rateLimitKoa({ limiter, rule: 'perIp', skip: (ctx: Context) => ctx.ip === '::1' }));
  app.use((ctx) => {
    ctx.body = search.of(ctx)?.decision.rule satisfies Rule | undefined;
  });
}

export function honoApp(): void {
  const search = rateLimitHono({ limiter, rule: 'search', key: async (c) => (await c.req.json<{ account: string }>()).account });
  const app = new Hono<{ Variables: { user: string } }>();
  app.use(search);
  app.get('/', rateLimitHono({ limiter, rule: 'perIp' }), (c) => {
    const rule: Rule | undefined = c.get('rateLimit')?.decision.rule;
    return c.json({ rule, left: c.var.rateLimit?.decision.remaining, user: c.get('user') });
  });
}

class NextRequest extends globalThis.Request {
  readonly nextUrl = new URL(this.url);
}

export const routeHandlers = {
  GET: rateLimitFetch({ limiter, rule: 'search', trustProxies: 1 })(
    async (request: NextRequest, context: { params: Promise<{ id: string }> }) => {
      const { id } = await context.params;
      return Response.json({ id, at: request.nextUrl.pathname });
    },
  ),
  POST: rateLimitFetch({ limiter, rule: 'login', key: (request) => request.headers.get('x-account') ?? 'none' })(() => new Response('in')),
};

export const guards = [
  rateLimitNest({ limiter, rule: 'search', key: (request) => request.user.id }),
  RateLimit({ limiter, checks: (request) => [{ rule: 'perIp' }, { rule: 'login', key: request.body.account }] }),
];
