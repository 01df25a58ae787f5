/** Limits on the wire: header fields and problem details. The only place that rounds. */
export { policyHeader, policyOf, rateLimitHeader, retryAfter, type Answered, type Policy } from './headers.js';
export { headerFormats, rateLimitFields, type HeaderFormat } from './fields.js';
export { partitionKeys } from './partition-keys.js';
export { problem, problemContentType, problemOf, quotaExceeded, temporaryReducedCapacity, type Problem } from './problem.js';

/** Who the client is. */
export {
  clientAddress,
  forwardedWatch,
  normalizeAddress,
  trustProxies,
  trustsPeer,
  type AddressSource,
  type Headers,
  type Trust,
} from './client-ip.js';

/** Devices on which an account has logged in before. */
export { deviceTokens, type DeviceTokenOptions, type DeviceTokens } from './device-tokens.js';
