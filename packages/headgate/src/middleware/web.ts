import type { Seen } from './address.js';
import type { Ending } from './types.js';

const read = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'user-agent'] as const;

/** What a web-standard request says of its client. */
export const seenByWeb = ({ headers }: Request, socketAddress?: string): Seen => ({
  message: {
    get headers() {
      return Object.fromEntries(read.map((name) => [name, headers.get(name) ?? undefined]));
    },
  },
  socketAddress,
});

/** Hears of a client that leaves while the handler is still at work. */
export function whenAborted({ signal }: Request, ended: (ending: Ending) => void): void {
  const end = (): void => ended({ status: 499, aborted: true });
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
}

/** A body that tells when it was read to its end, or is not wanted any more. */
function heard(body: ReadableStream<Uint8Array>, status: number, ended: (ending: Ending) => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          ended({ status, aborted: false });
          controller.close();
        } catch (error) {
          ended({ status: 500, aborted: false });
          controller.error(error);
        }
      },
      async cancel(reason) {
        ended({ status, aborted: true });
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** The response, which calls back when it has ended: at once if it has no body that anybody reads. */
export function whenSent(request: Request, response: Response, ended: (ending: Ending) => void): Response {
  const { body, status } = response;
  // Who answers HEAD throws the body away unread.
  if (body === null || request.method === 'HEAD') {
    ended({ status, aborted: false });
    return response;
  }
  return new Response(heard(body as ReadableStream<Uint8Array>, status, ended), response);
}
