import fastify, { LogController, type FastifyInstance } from 'fastify';
import { forwardedWatch, type DeviceTokens, type Trust } from 'headgate/http';
import { z } from 'zod';
import type { Service } from '../../usecases/service.js';
import type { Logger } from '../../observe/logger.js';
import { adminEndpoints, adminPath, type AdminOptions } from './admin/register.js';
import { boundConnections, boundedOptions, type HttpBounds } from './bounds.js';
import { checkEndpoints } from './check.js';
import { answerClientError, refuseExpectation } from './client-error.js';
import { devicesEndpoints } from './devices.js';
import { methodsOf, serve, type Endpoint } from './endpoint.js';
import { answerError, BadRequestError, problemErrors } from './errors.js';
import { gateEndpoints, gateMethods } from './gate.js';
import { openApiOf } from './openapi.js';
import { operateEndpoints, type Operable } from './operate.js';
import { quotasEndpoints } from './quotas.js';
import { takeBackEndpoints } from './take-back.js';

export interface HttpOptions {
  readonly service: Service;
  readonly operable: Operable;
  readonly devices: DeviceTokens;
  readonly admin: AdminOptions;
  /** Of this Headgate, for the OpenAPI document. */
  readonly version: string;
  readonly bounds: HttpBounds;
  readonly logger: Logger;
}

/** Warns once for each set of trusted proxies. */
function watchForwarded({ current }: Service, logger: Logger): (headers: Parameters<ReturnType<typeof forwardedWatch>>[0]) => void {
  const watches = new WeakMap<Trust, ReturnType<typeof forwardedWatch>>();
  return (headers) => {
    const { trust } = current().rules;
    const watch = watches.get(trust) ?? forwardedWatch(trust, (message) => logger.warn(message));
    watches.set(trust, watch);
    watch(headers);
  };
}

/** The document of these endpoints, which is one of them itself. Made when it is first asked for: starts are to be quick. */
function withDocument(endpoints: readonly Endpoint[], version: string): Endpoint[] {
  let document: unknown;
  const all: Endpoint[] = [
    ...endpoints,
    {
      methods: ['GET'],
      path: `${adminPath}/openapi.json`,
      tag: 'Operation',
      summary: 'This document',
      status: 200,
      answer: z.looseObject({ openapi: z.literal('3.1.0') }),
      problems: [],
      handle: () => (document ??= openApiOf(all, version)),
    },
  ];
  return all;
}

const withoutHost = new BadRequestError([{ pointer: '', detail: 'HTTP/1.1 needs the field Host' }]);

/** The HTTP edge: translates, and nothing else. */
export function httpServer({ service, operable, devices, admin, version, bounds, logger }: HttpOptions): FastifyInstance {
  const app = fastify({
    ...boundedOptions(bounds),
    loggerInstance: logger,
    // Requests come by the thousand a second; metrics count them.
    logController: new LogController({ disableRequestLogging: true }),
    return503OnClosing: false,
    // A key may be called anything; bodies are read field by field, by schemas.
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
    frameworkErrors: (error, request, reply) => void answerError(error, request, reply),
    clientErrorHandler: answerClientError,
  }) as unknown as FastifyInstance;
  boundConnections(app.server, bounds, (refused) =>
    logger.warn({ event: 'connections', refused }, `more than ${bounds.mostConnections} connections: further ones are closed`),
  );
  app.server.on('checkExpectation', (_request, response) => refuseExpectation(response));
  const endpoints = withDocument(
    [
      ...checkEndpoints(service),
      ...takeBackEndpoints(service),
      ...gateEndpoints(service),
      ...quotasEndpoints(service),
      ...devicesEndpoints(devices),
      ...operateEndpoints(operable),
      ...adminEndpoints(admin),
    ],
    version,
  );
  problemErrors(app, methodsOf(endpoints));
  // Only JSON: text/plain would let a page of another origin post without asking.
  app.removeContentTypeParser('text/plain');
  const watch = watchForwarded(service, logger);
  app.addHook('onRequest', ({ raw: { headers, httpVersion } }, _reply, done) => {
    watch(headers);
    done(headers.host === undefined && httpVersion === '1.1' ? withoutHost : undefined);
  });
  for (const method of gateMethods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true });
  serve(app, endpoints);
  return app;
}
