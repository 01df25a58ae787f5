import type { Server } from 'node:http';
import { serve, type HttpBindings } from '@hono/node-server';
import { rateLimit as rateLimitFetch, type FetchHandler, type RateLimitInfo } from 'headgate/fetch';
import { rateLimit as rateLimitHono } from 'headgate/hono';
import { Hono, type Context } from 'hono';
import { optionsFor, type Answer, type Facts, type Host } from '../site.js';
import { running } from './express.js';

async function factsOf(request: Request): Promise<Facts> {
  const { method, headers } = request;
  const body: unknown = headers.has('content-type') ? await request.clone().json() : undefined;
  return { method, header: (name) => headers.get(name) ?? undefined, body };
}

function responseOf({ status, body = '' }: Answer): Response {
  const bodyless = [204, 304].includes(status);
  if (typeof body === 'string') return new Response(bodyless ? null : body, { status });
  return new Response(ReadableStream.from(body).pipeThrough(new TextEncoderStream()) as ReadableStream<Uint8Array>, { status });
}

const listen = (fetch: Parameters<typeof serve>[0]['fetch']) => running(serve({ fetch, port: 0, hostname: '127.0.0.1' }) as Server);

export const honoHost: Host = {
  name: 'Hono 4',
  differs: {},
  async start({ limits, handler }) {
    const app = new Hono();
    const facts = (context: Context) => factsOf(context.req.raw);
    app.onError((_error, context) => context.text('broken', 500));
    for (const limit of limits) {
      const { ownAnswer } = limit;
      app.use(
        rateLimitHono({
          ...optionsFor<Context>(limit, facts),
          ...(ownAnswer !== undefined && { onRefused: (_refusal, context) => context.text(ownAnswer) }),
        }),
      );
    }
    app.all('/', async (context) =>
      responseOf(await handler(await facts(context), context.get('rateLimit' as never) as RateLimitInfo | undefined)),
    );
    return listen(app.fetch);
  },
};

/** Handlers from Request to Response, in a server that knows nothing else. */
export const fetchHost: Host = {
  name: 'fetch handlers',
  differs: {
    noSocket: 'a Request has no socket: proxies are counted, or the framework tells the address',
    unheardInPipelines: 'Node tells a queued response nothing of a broken connection; its place is free when the handler is done',
    errorsDropFields: 'what answers an error is made outside of the handler',
  },
  async start({ limits, handler }) {
    const addresses = new WeakMap<Request, string | undefined>();
    let answer: FetchHandler<Request, []> = async (request) => responseOf(await handler(await factsOf(request), innermost?.of(request)));
    let innermost: ReturnType<typeof rateLimitFetch<string, string>> | undefined;
    for (const limit of limits.toReversed()) {
      const { ownAnswer, trustProxies } = limit;
      const limited = rateLimitFetch<string, string>({
        ...(trustProxies === undefined ? { address: (request) => addresses.get(request) } : undefined),
        ...optionsFor<Request>(limit, factsOf),
        ...(ownAnswer !== undefined && { onRefused: (refusal) => new Response(ownAnswer, { status: refusal.status }) }),
      });
      innermost ??= limited;
      answer = limited(answer);
    }
    return listen(async (request, env) => {
      addresses.set(request, (env as HttpBindings).incoming.socket.remoteAddress);
      try {
        return await answer(request);
      } catch {
        return new Response('broken', { status: 500 });
      }
    });
  },
};
