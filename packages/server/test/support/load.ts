import { request, type Agent } from 'node:http';
import { later } from './service.js';

export interface Loading {
  /** Servers that are asked in turn, while they are not left. */
  readonly urls: readonly string[];
  readonly agent: Agent;
  readonly perSecond: number;
  readonly rule: string;
  readonly key?: string;
}

export interface Loaded {
  readonly asked: number;
  readonly answered: number;
  readonly allowed: number;
  readonly degraded: number;
  readonly failures: readonly string[];
}

export interface Load {
  /** As a load balancer that has found a server not ready, or ready again. */
  leave(url: string): void;
  enter(url: string): void;
  /** Asks nothing more, and waits for the answers. */
  stop(): Promise<Loaded>;
}

/** Milliseconds between two looks at what is due. */
const everyMs = 5;

/** An open loop of checks at a steady pace, whatever becomes of the answers. */
export function steadyLoad({ urls, agent, perSecond, rule, key = 'k' }: Loading): Load {
  const open = new Set(urls);
  const said = { asked: 0, answered: 0, allowed: 0, degraded: 0, failures: [] as string[] };
  const waiting = new Set<Promise<void>>();
  const body = JSON.stringify({ rule, key });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };

  function check(url: string): Promise<void> {
    return new Promise((resolve) => {
      const sent = request(`${url}/v1/check`, { method: 'POST', agent, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => {
          said.answered += 1;
          const { allowed, decision } = JSON.parse(text) as { allowed: boolean; decision: { degraded: boolean } };
          if (response.statusCode !== 200) said.failures.push(`status ${response.statusCode}`);
          if (allowed) said.allowed += 1;
          if (decision?.degraded) said.degraded += 1;
          resolve();
        });
      });
      sent.on('error', (error: NodeJS.ErrnoException) => {
        said.failures.push(`${url}: ${error.code ?? error.message}`);
        resolve();
      });
      sent.end(body);
    });
  }

  const begun = performance.now();
  let turn = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - begun) / 1000) * perSecond;
    const here = [...open];
    for (; said.asked < due && here.length > 0; said.asked += 1) {
      const answer = check(here[(turn += 1) % here.length] ?? '');
      waiting.add(answer);
      void answer.finally(() => waiting.delete(answer));
    }
  }, everyMs);
  later(() => clearInterval(timer));

  return {
    leave: (url) => void open.delete(url),
    enter: (url) => void open.add(url),
    async stop() {
      clearInterval(timer);
      await Promise.all(waiting);
      return said;
    },
  };
}
