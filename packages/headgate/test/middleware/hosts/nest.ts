import 'reflect-metadata';
import { Readable } from 'node:stream';
import type { Server } from 'node:http';
import { All, Controller, Module, Req, Res, StreamableFile, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { RateLimit, RateLimited, type NestRequest, type RateLimitInfo } from 'headgate/nest';
import { optionsFor, type Facts, type Host, type Site } from '../site.js';
import { running } from './express.js';

const factsOf = ({ method, headers, body }: NestRequest): Facts => ({
  method,
  header: (name) => headers[name] as string | undefined,
  body: body as unknown,
});

/** A controller of one handler, decorated as a compiler would. */
function controllerOf({ limits, handler }: Site) {
  class Everything {
    async answer(request: NestRequest, response: { status(code: number): unknown }, info: RateLimitInfo | undefined) {
      const { status, body = '' } = await handler(factsOf(request), info);
      response.status(status);
      return typeof body === 'string' ? body : new StreamableFile(Readable.from(body));
    }
  }
  const { prototype } = Everything;
  Req()(prototype, 'answer', 0);
  Res({ passthrough: true })(prototype, 'answer', 1);
  RateLimited()(prototype, 'answer', 2);
  All('/')(prototype, 'answer', Object.getOwnPropertyDescriptor(prototype, 'answer')!);
  for (const limit of limits) RateLimit(optionsFor<NestRequest>(limit, factsOf))(Everything);
  Controller()(Everything);
  return Everything;
}

function hostOn(name: string, create: (module: new () => object) => Promise<INestApplication>): Host {
  return {
    name,
    differs: { ownAnswerElsewhere: 'exception filters answer refusals in ways of one’s own: they catch RateLimitException' },
    async start(site) {
      class App {}
      Module({ controllers: [controllerOf(site)] })(App);
      const app = await create(App);
      await app.listen(0, '127.0.0.1');
      const { port, close } = await running(app.getHttpServer() as Server);
      return { port, close: () => close().then(() => app.close()) };
    },
  };
}

const quiet = { logger: false as const };

export const nestHosts = [
  hostOn('Nest 12 on Express', (module) => NestFactory.create(module, new ExpressAdapter(), quiet)),
  hostOn('Nest 12 on Fastify', (module) => NestFactory.create(module, new FastifyAdapter(), quiet)),
];
