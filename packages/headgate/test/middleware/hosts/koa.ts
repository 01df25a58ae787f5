import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { rateLimit } from 'headgate/koa';
import Koa, { type Context } from 'koa';
import { optionsFor, type Facts, type Host } from '../site.js';
import { running } from './express.js';

const factsOf = (context: Context): Facts => ({
  method: context.method,
  header: (name) => context.get(name) || undefined,
  body: (context.request as { body?: unknown }).body,
});

export const koaHost: Host = {
  name: 'Koa 3',
  differs: { errorsDropFields: 'Koa removes all fields from the answer to an error (context.onerror)' },
  async start({ limits, handler }) {
    const app = new Koa();
    app.silent = true;
    app.use(async (context, next) => {
      if (context.get('content-type') !== '') (context.request as { body?: unknown }).body = JSON.parse(await text(context.req));
      await next();
    });
    for (const limit of limits) {
      const { ownAnswer } = limit;
      app.use(
        rateLimit<string, string, Context>({
          ...optionsFor<Context>(limit, factsOf),
          ...(ownAnswer !== undefined && { onRefused: (_refusal, context) => void (context.body = ownAnswer) }),
        }),
      );
    }
    app.use(async (context) => {
      const { status, body = '' } = await handler(factsOf(context), context.state.rateLimit);
      context.status = status;
      context.body = typeof body === 'string' ? body : Readable.from(body);
    });
    return running(createServer(app.callback()).listen(0, '127.0.0.1'));
  },
};
