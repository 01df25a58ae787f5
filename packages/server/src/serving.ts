import type { Server as HttpsServer } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from './config.js';
import { httpBounds, type HttpBounds } from './edge/http/bounds.js';
import { httpServer, opsServer, type HttpOptions } from './edge/http/server.js';
import { listen } from './listening.js';
import type { Logger } from './observe/logger.js';
import type { Metrics } from './observe/metrics.js';
import type { Opened } from './opened.js';
import { clearSocketPath } from './socket-file.js';
import { followCertificate } from './tls/follow.js';
import { openCertificate } from './tls/source.js';
import type { AskReady } from './usecases/ready.js';

export interface Served extends Pick<HttpOptions, 'service' | 'devices' | 'admin' | 'version' | 'watch' | 'store'> {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** As `/metrics` answers. */
  readonly metricsText: Metrics['text'];
  readonly askReady: AskReady;
  readonly opened: Opened;
  /** Whether a socket's path is ours already: of a process that listens for this one. */
  readonly ownsSocket: boolean;
  readonly bounds?: HttpBounds;
}

export interface Serving {
  readonly url: string;
  readonly opsUrl: string | undefined;
  /** Not ready first, then answers what is in flight, then takes nothing any more. */
  stop(): Promise<void>;
}

/** Starts all that listens. */
export async function startServing({
  config,
  logger,
  metrics,
  metricsText,
  askReady,
  opened,
  ownsSocket,
  watch,
  bounds = httpBounds,
  ...http
}: Served): Promise<Serving> {
  const { host, httpPort, socket, opsPort, tls, drainMs, stopWithinMs } = config;
  let stopping = false;
  const isStopping = (): boolean => stopping;
  const ready: AskReady = async () => (stopping ? { ready: false, stopping, why: 'the server is stopping' } : askReady());

  const certificate = tls && (await openCertificate(tls));
  const operable = { ready, metrics: opsPort === undefined ? metricsText : undefined };
  const app = httpServer({ ...http, operable, logger, isStopping, certificate, bounds, watch });
  if (certificate !== undefined) {
    const unfollow = followCertificate({ certificate, server: app.server as unknown as HttpsServer, metrics, logger });
    opened.add('the watch over certificates', unfollow);
  }
  const opsApp =
    opsPort === undefined ? undefined : opsServer({ operable: { ready, metrics: metricsText }, logger, isStopping, bounds, watch });
  const ops = opsApp && (await listen(opsApp, { host, port: opsPort ?? 0 }));
  if (ops !== undefined) opened.add('the port for operators', () => ops.stop(0));

  if (socket !== undefined && !ownsSocket) await clearSocketPath(socket);
  const place = socket === undefined ? { host, port: httpPort } : { socket };
  const main = await listen(app, place, { scheme: tls === undefined ? 'http' : 'https' });
  return {
    url: main.url,
    opsUrl: ops?.url,
    async stop() {
      stopping = true;
      logger.info({ event: 'stopping' }, 'not ready any more; requests are still answered');
      await sleep(drainMs);
      const cut = await main.stop(stopWithinMs);
      if (cut > 0) logger.warn({ event: 'stopping', cut }, `connections were cut: they took longer than ${stopWithinMs} ms`);
    },
  };
}
