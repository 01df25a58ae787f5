import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { socketMode } from './socket-file.js';
import { openConnections, stopTaking } from './stopping.js';

export type Place = { readonly host: string; readonly port: number } | { readonly socket: string };

export interface Listening {
  /** `http://127.0.0.1:8080`, `https://...` or `unix:/run/headgate.sock`. */
  readonly url: string;
  /** Takes no more, answers what is in flight, and answers how many connections were cut as they took longer. */
  stop(withinMs: number): Promise<number>;
}

/** Who connects over a Unix socket is a process of this machine, as over loopback; Node gives it no address. */
const asLoopback = (socket: Socket): unknown => Object.defineProperty(socket, 'remoteAddress', { value: '127.0.0.1' });

/** The same on a further address of this machine. Not there if this one is not to be had. */
async function alsoOn(app: FastifyInstance, host: string): Promise<Server[]> {
  const { server } = app;
  const { port } = server.address() as AddressInfo;
  const beside = createServer((socket) => server.emit('connection', socket));
  if (server.maxConnections > 0) beside.maxConnections = server.maxConnections;
  try {
    await once(beside.listen({ host, port }), 'listening');
    return [beside];
  } catch {
    return [];
  }
}

export interface ListenOptions {
  readonly scheme?: 'http' | 'https';
  /** For tests: the addresses of a name. */
  readonly resolve?: (host: string) => Promise<readonly { readonly address: string }[]>;
}

const addressesOf = (host: string) => lookup(host, { all: true });

async function listenAt(app: FastifyInstance, place: Place, { resolve = addressesOf }: ListenOptions): Promise<Server[]> {
  if ('socket' in place) {
    app.server.on('connection', asLoopback);
    await app.listen({ path: place.socket });
    await chmod(place.socket, socketMode);
    return [];
  }
  const { host, port } = place;
  // Where Fastify is left to do it, a renewed certificate reaches one of the addresses only.
  const [first, ...others] = host === 'localhost' ? await resolve(host) : [];
  await app.listen({ host: first?.address ?? host, port });
  return (await Promise.all(others.map(({ address }) => alsoOn(app, address)))).flat();
}

function urlOf(app: FastifyInstance, place: Place, scheme: string): string {
  if ('socket' in place) return `unix:${place.socket}`;
  const { port } = app.server.address() as AddressInfo;
  return `${scheme}://${place.host.includes(':') ? `[${place.host}]` : place.host}:${port}`;
}

/** Listens. To be called once for a server. */
export async function listen(app: FastifyInstance, place: Place, options: ListenOptions = {}): Promise<Listening> {
  const open = openConnections(app.server);
  const beside = await listenAt(app, place, options);
  return {
    url: urlOf(app, place, options.scheme ?? 'http'),
    async stop(withinMs) {
      const cut = await stopTaking({ server: app.server, beside, open, withinMs });
      await app.close();
      return cut;
    },
  };
}
