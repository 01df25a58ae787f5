import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';

/** What a partner answers; `'silence'`: nothing, `'hangup'`: a closed connection. */
export type PartnerAnswer = { readonly status: number; readonly headers?: Record<string, string> } | 'silence' | 'hangup';

export interface Partner {
  readonly url: string;
  /** What came, in order, and when, by `performance.now()`. */
  readonly asked: { readonly method: string; readonly body: string; readonly headers: IncomingHttpHeaders; readonly at: number }[];
}

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** A partner's API on a free port, closed after the test: answers as told, one after the other, and 200 from then on. */
export async function partner(...answers: PartnerAnswer[]): Promise<Partner> {
  const asked: Partner['asked'] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const answer = answers[asked.length] ?? { status: 200 };
      asked.push({ method: request.method ?? '', body, headers: request.headers, at: performance.now() });
      if (answer === 'silence') return;
      if (answer === 'hangup') request.socket.destroy();
      else response.writeHead(answer.status, answer.headers).end('answer');
    });
  });
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked };
}

/** An address where nobody listens. */
export async function nobody(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/`;
}

/** Waits until something is so, over real connections. */
export async function until(isSo: () => boolean): Promise<void> {
  const end = performance.now() + 20_000;
  while (!isSo()) {
    if (performance.now() > end) throw new Error('it never came');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
