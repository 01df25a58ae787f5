import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { host } from './redis.js';

export interface Proxy {
  readonly port: number;
  readonly url: string;
  /** What passed so far, over all connections. A chunk is one read of a socket: a request, or several sent together. */
  seen(): { readonly requestBytes: number; readonly replyBytes: number; readonly requestChunks: number; readonly connections: number };
  /**
   * The next request reaches Redis and is executed; its reply is thrown away and the connection destroyed instead.
   * Resolves when that has happened. With `match`, the next request whose bytes contain that text.
   */
  cutReplies(match?: string): Promise<void>;
  /** Replies wait here until resumeReplies(). */
  pauseReplies(): void;
  resumeReplies(): void;
  /** Every reply passes so many milliseconds later, in order; 0 is at once again. */
  delayReplies(ms: number): void;
  /** Destroys every connection; new ones are destroyed too, until accept(). */
  refuse(): void;
  accept(): void;
  close(): Promise<void>;
}

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  doomed: boolean;
  /** Replies that are held back, each with a timer of its own that lets the first of them pass. */
  readonly held: Buffer[];
}

/** A TCP proxy in front of the Redis on `targetPort`, to lose or hold back what Redis answers. */
export async function startProxy(targetPort: number): Promise<Proxy> {
  const links = new Set<Link>();
  const counts = { requestBytes: 0, replyBytes: 0, requestChunks: 0, connections: 0 };
  let refusing = false;
  let paused = false;
  let delay = 0;
  let cut: { match: string; done: () => void } | undefined;

  const drop = (link: Link): void => {
    links.delete(link);
    link.client.destroy();
    link.server.destroy();
  };
  const pass = (link: Link, chunk: Buffer): void => {
    if (delay === 0 && link.held.length === 0) return void link.client.write(chunk);
    link.held.push(chunk);
    setTimeout(() => {
      const first = link.held.shift();
      if (first && links.has(link)) link.client.write(first);
    }, delay);
  };
  const accept = (client: Socket): void => {
    if (refusing) return void client.destroy();
    counts.connections++;
    const link: Link = { client, server: connect(targetPort, host), doomed: false, held: [] };
    links.add(link);
    let finish: (() => void) | undefined;
    if (paused) link.server.pause();
    client.on('data', (chunk: Buffer) => {
      counts.requestBytes += chunk.length;
      counts.requestChunks++;
      if (cut && chunk.includes(cut.match)) {
        link.doomed = true;
        finish = cut.done;
        cut = undefined;
      }
      link.server.write(chunk);
    });
    link.server.on('data', (chunk: Buffer) => {
      counts.replyBytes += chunk.length;
      // A reply says that Redis has executed the request.
      if (!link.doomed) return pass(link, chunk);
      drop(link);
      finish?.();
    });
    for (const socket of [client, link.server]) {
      socket.setNoDelay(true);
      socket.on('error', () => drop(link));
      socket.on('close', () => drop(link));
    }
  };
  const server = createServer(accept);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `redis://${host}:${port}`,
    seen: () => ({ ...counts }),
    cutReplies: (match = '') => new Promise((done) => (cut = { match, done })),
    pauseReplies: () => {
      paused = true;
      for (const link of links) link.server.pause();
    },
    resumeReplies: () => {
      paused = false;
      for (const link of links) link.server.resume();
    },
    delayReplies: (ms) => {
      delay = ms;
    },
    refuse: () => {
      refusing = true;
      for (const link of links) drop(link);
    },
    accept: () => {
      refusing = false;
    },
    close: async () => {
      for (const link of links) drop(link);
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
