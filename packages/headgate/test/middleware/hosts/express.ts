import type { Server } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { AddressInfo } from 'node:net';
import express, { type Request, type Response } from 'express';
import express4 from 'express4';
import { rateLimit } from 'headgate/express';
import { optionsFor, type Answer, type Facts, type Host, type Running, type Site } from '../site.js';

/** A Node server that listens, as a running site. */
export async function running(server: Server): Promise<Running> {
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function sendOn(response: Response, { status, body = '' }: Answer): void {
  response.status(status);
  if (typeof body === 'string') response.send(body);
  else pipeline(Readable.from(body), response, () => undefined);
}

const factsOf = (request: Request): Facts => ({
  method: request.method,
  header: (name) => request.get(name),
  body: request.body as unknown,
});

function hostWith(name: string, make: typeof express): Host {
  return {
    name,
    differs: {},
    async start({ limits, handler }: Site) {
      const app = make();
      app.use(make.json());
      for (const limit of limits) {
        const { ownAnswer } = limit;
        app.use(
          rateLimit<string, string, Request>({
            ...optionsFor<Request>(limit, factsOf),
            ...(ownAnswer !== undefined && { onRefused: (_refusal, { response }) => response.end(ownAnswer) }),
          }),
        );
      }
      app.all('/', (request, response, next) => {
        Promise.resolve()
          .then(() => handler(factsOf(request), request.rateLimit))
          .then((answer) => sendOn(response, answer))
          .catch(next);
      });
      return running(app.listen(0, '127.0.0.1'));
    },
  };
}

export const expressHosts = [hostWith('Express 5', express), hostWith('Express 4', express4 as unknown as typeof express)];
