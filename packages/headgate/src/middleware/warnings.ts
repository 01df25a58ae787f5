import type { Limiter } from '../index.js';

/** What was told already, by limiter: the same fault is often in the options of many routes. */
const told = new WeakMap<object, Set<string>>();

const emit = (message: string): void => process.emitWarning(message, { type: 'HeadgateWarning', code: 'HEADGATE_MIDDLEWARE' });

/** Warns once of each fault of a limiter's middlewares. */
export function warner(limiter: object, onWarning: (message: string) => void = emit): (message: string) => void {
  const messages = told.get(limiter) ?? new Set();
  told.set(limiter, messages);
  return (message) => {
    if (messages.has(message)) return;
    messages.add(message);
    onWarning(message);
  };
}

const suspicious = 100;
const requests = new WeakMap<object, 1 | 2>();
let askedOnce = 0;

/**
 * Notices limiters made inside a handler: each has counters of its own, so that no limit ever binds. Made once, a limiter soon has its second
 * request; a hundred that each had one were made by requests. Call what it returns with each request.
 */
export function watchLimiters(limiter: Limiter, warn: (message: string) => void): () => void {
  let known = false;
  return () => {
    if (known) return;
    const seen = requests.get(limiter);
    known = seen !== undefined;
    if (seen === 2) return;
    requests.set(limiter, seen === undefined ? 1 : 2);
    askedOnce += seen === undefined ? 1 : -1;
    if (askedOnce !== suspicious) return;
    warn(`${suspicious} limiters had one request each: a limiter made inside a handler starts with full budgets; make it once, outside`);
  };
}

const enough = 1000;
const privateAddress = /^(10\.|127\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|::\/|f[cd]|fe[89ab])/;

/**
 * Notices that every client has the same address, which then is a proxy's: a thousand requests from one private address, of more than one
 * user agent; undefined is one that nobody looked at.
 */
export function watchAddresses(warn: (message: string) => void): (address: string, userAgent: string | undefined) => void {
  let first: { address: string; userAgent: string | undefined; isPrivate: boolean } | undefined;
  let severalAgents = false;
  let seen = 0;
  let known = false;
  return (address, userAgent) => {
    if (known) return;
    first ??= { address, userAgent, isPrivate: privateAddress.test(address) };
    seen += 1;
    severalAgents ||= userAgent !== undefined && userAgent !== first.userAgent;
    const same = address === first.address && first.isPrivate;
    if (same && (seen < enough || !severalAgents)) return;
    known = true;
    if (!same) return;
    warn(
      `${enough} requests, all there were, came from one private address: clients behind a proxy share one budget; have it write X-Forwarded-For and name it in trustProxies`,
    );
  };
}
