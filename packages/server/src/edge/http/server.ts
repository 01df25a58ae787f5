import fastify, { type FastifyInstance } from 'fastify';
import { forwardedWatch } from 'headgate/http';
import type { Service } from '../../usecases/service.js';
import { checkRoutes } from './check.js';
import { problemErrors } from './errors.js';
import { gateRoutes } from './gate.js';
import { operateRoutes, type Operable } from './operate.js';
import type { Logger } from '../../observe/logger.js';

export interface HttpOptions {
  readonly service: Service;
  readonly operable: Operable;
  readonly logger: Logger;
}

const largestBody = 64 * 1024;

/** The HTTP edge: translates, and nothing else. */
export function httpServer({ service, operable, logger }: HttpOptions): FastifyInstance {
  const app = fastify({
    loggerInstance: logger,
    // Requests come by the thousand a second; metrics count them.
    disableRequestLogging: true,
    bodyLimit: largestBody,
    requestTimeout: 10_000,
    keepAliveTimeout: 75_000,
    return503OnClosing: false,
    routerOptions: { maxParamLength: 16_384 },
  }) as unknown as FastifyInstance;
  problemErrors(app);
  // Only JSON: text/plain would let a page of another origin post without asking.
  app.removeContentTypeParser('text/plain');
  const trust = service.current().rules.trust;
  const watch = forwardedWatch(trust, (message) => logger.warn(message));
  app.addHook('onRequest', (request, _reply, done) => {
    watch(request.headers);
    done();
  });
  app.register((scope, _options, done) => {
    checkRoutes(scope, service);
    done();
  });
  app.register((scope, _options, done) => {
    gateRoutes(scope, service);
    done();
  });
  operateRoutes(app, operable);
  return app;
}
