import type { Server } from 'node:http';

/** What one client, or many of them, may cost this server. Times are in milliseconds. */
export interface HttpBounds {
  /** Bytes of a body; one that is larger is a 413. */
  readonly largestBody: number;
  /** Bytes of a request's line and header fields; more is a 431. */
  readonly largestHead: number;
  /** Connections at once; further ones are closed as soon as they are there. */
  readonly mostConnections: number;
  /** From the first byte, or the connection, to the end of the header fields; then 408. Not longer than `requestWithinMs`. */
  readonly headersWithinMs: number;
  /** From the first byte to the end of the body; then 408. */
  readonly requestWithinMs: number;
  /** How long a connection may be idle between two requests. Longer than the minute of gateways, so that they close it and not we. */
  readonly keepAliveMs: number;
  /**
   * How long a connection in use may stand still, as one does whose client does not read, or is gone without a word. Longer than the longest
   * deadline of a decision, which is a minute.
   */
  readonly standstillMs: number;
  /** How often late clients are looked for: the times above are exact to so much. */
  readonly lookEveryMs: number;
}

export const httpBounds: HttpBounds = {
  largestBody: 64 * 1024,
  largestHead: 16 * 1024,
  mostConnections: 10_000,
  headersWithinMs: 10_000,
  requestWithinMs: 10_000,
  keepAliveMs: 75_000,
  standstillMs: 75_000,
  lookEveryMs: 1000,
};

/** The bounds as Fastify and Node take them. */
export const boundedOptions = (bounds: HttpBounds) => ({
  bodyLimit: bounds.largestBody,
  requestTimeout: bounds.requestWithinMs,
  keepAliveTimeout: bounds.keepAliveMs,
  connectionTimeout: bounds.standstillMs,
  // Keys in paths; the schemas say how long each may be.
  routerOptions: { maxParamLength: bounds.largestHead },
  http: {
    maxHeaderSize: bounds.largestHead,
    headersTimeout: bounds.headersWithinMs,
    connectionsCheckingInterval: bounds.lookEveryMs,
    // Node's own answer would be no problem+json.
    requireHostHeader: false,
  },
});

/** Refusals are told at most so often, in milliseconds: who refuses a flood must not write one. */
const tellEveryMs = 10_000;

/**
 * Bounds the connections. Those above the bound are closed without an answer: a gateway takes that for a server that cannot be reached, and
 * tries another one, which it would not do after a 503.
 */
export function boundConnections(server: Server, { mostConnections }: HttpBounds, onRefused: (refused: number) => void): void {
  let [untold, toldAt] = [0, -Infinity];
  server.maxConnections = mostConnections;
  // Node would leave out fields after the thousandth, without a word: of a gateway's own fields, those that it adds last. Their bytes are bounded.
  server.maxHeadersCount = 0;
  server.on('drop', () => {
    untold += 1;
    const now = performance.now();
    if (now < toldAt + tellEveryMs) return;
    onRefused(untold);
    [untold, toldAt] = [0, now];
  });
}
