import type { OutboundFetch } from './options.js';

type Input = Parameters<OutboundFetch>[0];
type Init = Parameters<OutboundFetch>[1];

/** What is known of a request before it is sent. */
export interface Sending {
  readonly signal: AbortSignal | undefined;
  /** Whether it may be sent again after this status. */
  repeatable(status: number): boolean;
}

/** Of these methods (RFC 9110, section 9.2.2) twice is as good as once. */
const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

const isStream = (body: unknown): boolean => typeof body === 'object' && body !== null && Symbol.asyncIterator in body;

/** Stands for a body where only its kind counts. */
const probeOf = (body: unknown): string | ReadableStream | null => (body == null ? null : isStream(body) ? new ReadableStream() : '');

/**
 * Looks at a request without sending it.
 *
 * @throws TypeError as `fetch` would: nothing has been taken by then
 */
export function look(input: Input, init: Init): Sending {
  const given = typeof input === 'string' || input instanceof URL ? undefined : input;
  const body = init?.body ?? given?.body;
  // That of a request object was looked at when that was made.
  const stand = init?.body == null && body != null ? '' : probeOf(body);
  const probe = new Request(given?.url ?? input, { ...init, method: init?.method ?? given?.method ?? 'GET', body: stand });
  const headers = new Headers(init?.headers ?? given?.headers);
  // The body of a request object is a stream that is used up.
  const resendable = !isStream(body);
  const harmless = idempotent.has(probe.method) || headers.has('idempotency-key');
  return {
    signal: init?.signal ?? given?.signal ?? undefined,
    // Who says 429 has not begun; a 503 may come from a proxy that gave up waiting.
    repeatable: (status) => resendable && (status === 429 || (status === 503 && harmless)),
  };
}

/** No connection was made, or none that is trusted: nothing was sent. */
const unsent =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|ERR_INVALID_URL|ERR_TLS_.*|.*CERT.*|UNABLE_TO_.*)$/;

/** Whether a failed `fetch` is known not to have sent anything. */
export function wasUnsent(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as { code?: unknown; message?: unknown } | undefined) : undefined;
  // The ports of other protocols, which fetch connects to for nobody.
  return cause?.message === 'bad port' || (typeof cause?.code === 'string' && unsent.test(cause.code));
}
