import fastify, { LogController, type FastifyInstance } from 'fastify';
import { forwardedWatch, type DeviceTokens, type Trust } from 'headgate/http';
import { z } from 'zod';
import type { Service } from '../../usecases/service.js';
import type { Logger } from '../../observe/logger.js';
import type { Arrival, Watching } from '../../observe/requests.js';
import type { CertificateSource } from '../../tls/source.js';
import { adminEndpoints, adminPath, type AdminOptions } from './admin/register.js';
import { boundConnections, boundedOptions, type HttpBounds } from './bounds.js';
import { checkEndpoints } from './check.js';
import { answerClientError, refuseExpectation } from './client-error.js';
import { devicesEndpoints } from './devices.js';
import { methodsOf, serve, type Endpoint } from './endpoint.js';
import { answerError, BadRequestError, problemErrors } from './errors.js';
import { gateEndpoints, gateMethods } from './gate.js';
import { sayLastAnswers } from './last-answers.js';
import { openApiOf } from './openapi.js';
import { operateEndpoints, type Operable } from './operate.js';
import { quotasEndpoints } from './quotas.js';
import { requestIdOf, traceIn } from './request-id.js';
import { RequestLog } from './request-log.js';
import { storeEndpoints, type ServedStore } from './store.js';
import { takeBackEndpoints } from './take-back.js';
import { watchRequests } from './watch.js';

/** What every server of ours has. */
export interface ServerOptions {
  readonly bounds: HttpBounds;
  readonly logger: Logger;
  /** Told of each request. */
  readonly watch: (arrival: Arrival) => Watching;
  /** Whether answers are the last on their connection. */
  readonly isStopping: () => boolean;
  /** With it the server speaks TLS. */
  readonly certificate?: CertificateSource | undefined;
}

export interface HttpOptions extends ServerOptions {
  readonly service: Service;
  readonly operable: Operable;
  readonly devices: DeviceTokens;
  readonly admin: AdminOptions;
  /** Of this Headgate, for the OpenAPI document. */
  readonly version: string;
  /** Absent: the counters are not served as a store. */
  readonly store?: ServedStore;
}

/** Warns once for each set of trusted proxies. */
function watchForwarded({ current }: Service, logger: Logger): (headers: Parameters<ReturnType<typeof forwardedWatch>>[0]) => void {
  const watches = new WeakMap<Trust, ReturnType<typeof forwardedWatch>>();
  return (headers) => {
    const { trust } = current().rules;
    let watch = watches.get(trust);
    if (watch === undefined) {
      watch = forwardedWatch(trust, (message) => logger.warn(message));
      watches.set(trust, watch);
    }
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

/** A server that answers these endpoints, and problems. */
function serverOf(endpoints: readonly Endpoint[], { bounds, logger, watch, isStopping, certificate }: ServerOptions): FastifyInstance {
  const { http, ...bounded } = boundedOptions(bounds);
  const isMutual = certificate?.isMutual ?? false;
  const https = certificate && { ...http, ...certificate.first.context, requestCert: isMutual, rejectUnauthorized: isMutual };
  const app = fastify({
    ...bounded,
    ...(https === undefined ? { http } : { https }),
    loggerInstance: logger,
    // Requests come by the thousand a second; metrics count them.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    // Fastify's own way would take any text.
    requestIdHeader: false,
    genReqId: ({ headers }) => requestIdOf(headers),
    childLoggerFactory: (parent, ...[bindings, options, { headers }]) =>
      new RequestLog(() => parent.child({ ...bindings, ...traceIn(headers) }, options)),
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
  problemErrors(app, methodsOf(endpoints));
  // Only JSON: text/plain would let a page of another origin post without asking.
  app.removeContentTypeParser('text/plain');
  watchRequests(app, watch);
  sayLastAnswers(app, isStopping);
  app.addHook('onRequest', ({ raw: { headers, httpVersion } }, _reply, done) => {
    done(headers.host === undefined && httpVersion === '1.1' ? withoutHost : undefined);
  });
  return app;
}

/** For orchestrators and Prometheus alone, in plain HTTP: they have no certificate, and no business with anything else. */
export function opsServer({ operable, ...options }: ServerOptions & { readonly operable: Operable }): FastifyInstance {
  const endpoints = operateEndpoints(operable);
  const app = serverOf(endpoints, options);
  serve(app, endpoints);
  return app;
}

/** The HTTP edge: translates, and nothing else. */
export function httpServer({ service, operable, devices, admin, version, store, ...options }: HttpOptions): FastifyInstance {
  const endpoints = withDocument(
    [
      ...checkEndpoints(service),
      ...takeBackEndpoints(service),
      ...gateEndpoints(service),
      ...quotasEndpoints(service),
      ...devicesEndpoints(devices),
      ...(store === undefined ? [] : storeEndpoints(store)),
      ...operateEndpoints(operable),
      ...adminEndpoints(admin),
    ],
    version,
  );
  const app = serverOf(endpoints, options);
  const lookAtForwarded = watchForwarded(service, options.logger);
  app.addHook('onRequest', ({ raw: { headers } }, _reply, done) => {
    lookAtForwarded(headers);
    done();
  });
  for (const method of gateMethods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true });
  serve(app, endpoints);
  return app;
}
