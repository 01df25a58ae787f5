/** Where in its caller's trace a request belongs. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  /** Whether the caller records its part. */
  readonly sampled: boolean;
}

const format = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/**
 * Reads `traceparent` (W3C Trace Context); undefined for what is none. Its companion `tracestate` is not looked at: it is text of other
 * systems, which nothing here passes on.
 */
export function readTraceparent(field: string | undefined): TraceContext | undefined {
  if (field === undefined || field.length > 512) return undefined;
  const [, version, traceId, spanId, flags, more] = format.exec(field) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  // Later versions may say more; this one does not.
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
