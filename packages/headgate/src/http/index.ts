/** Limits on the wire: header fields and problem details. The only place that rounds. */
export { rateLimitFields, retryAfter, type Answered } from './headers.js';
export { problemContentType, problemOf, type Problem } from './problem.js';

/** Who the client is. */
export { clientAddress, forwardedWatch, normalizeAddress, trustProxies, trustsPeer, type Headers, type Trust } from './client-ip.js';
