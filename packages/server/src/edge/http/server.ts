import fastify, { LogController, type FastifyInstance } from 'fastify';
import { forwardedWatch, type DeviceTokens, type Trust } from 'headgate/http';
import type { Service } from '../../usecases/service.js';
import type { Logger } from '../../observe/logger.js';
import { adminRoutes, type AdminOptions } from './admin/register.js';
import { checkRoutes } from './check.js';
import { answerClientError } from './client-error.js';
import { devicesRoutes } from './devices.js';
import { answerError, problemErrors } from './errors.js';
import { gateRoutes } from './gate.js';
import { operateRoutes, type Operable } from './operate.js';
import { quotasRoutes } from './quotas.js';
import { storeRoutes, type ServedStore } from './store.js';

export interface HttpOptions {
  readonly service: Service;
  readonly operable: Operable;
  readonly devices: DeviceTokens;
  readonly admin: AdminOptions;
  /** Absent: the counters are not served as a store. */
  readonly store?: ServedStore;
  readonly logger: Logger;
}

const largestBody = 64 * 1024;
/** Node takes no longer head of a request. */
const longestParam = 16 * 1024;

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

/** The HTTP edge: translates, and nothing else. */
export function httpServer({ service, operable, devices, admin, store, logger }: HttpOptions): FastifyInstance {
  const app = fastify({
    loggerInstance: logger,
    // Requests come by the thousand a second; metrics count them.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: largestBody,
    // Keys in paths; the schemas say how long each may be.
    routerOptions: { maxParamLength: longestParam },
    requestTimeout: 10_000,
    keepAliveTimeout: 75_000,
    return503OnClosing: false,
    // A key may be called anything; bodies are read field by field, by schemas.
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
    frameworkErrors: (error, request, reply) => void answerError(error, request, reply),
    clientErrorHandler: answerClientError,
  }) as unknown as FastifyInstance;
  problemErrors(app);
  // Only JSON: text/plain would let a page of another origin post without asking.
  app.removeContentTypeParser('text/plain');
  const watch = watchForwarded(service, logger);
  app.addHook('onRequest', (request, _reply, done) => {
    watch(request.headers);
    done();
  });
  app.register((scope, _options, done) => {
    checkRoutes(scope, service);
    quotasRoutes(scope, service);
    devicesRoutes(scope, devices);
    adminRoutes(scope, admin);
    done();
  });
  app.register((scope, _options, done) => {
    gateRoutes(scope, service);
    done();
  });
  if (store !== undefined)
    app.register((scope, _options, done) => {
      storeRoutes(scope, store);
      done();
    });
  operateRoutes(app, operable);
  return app;
}
