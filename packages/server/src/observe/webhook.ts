import { createHmac } from 'node:crypto';
import { systemClock, type Clock } from 'headgate';

/** What is told to somebody else's server. */
export interface WebhookEvent {
  /** The same for the same event on every server and attempt, so that the receiver can tell repeats. */
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface WebhookOptions {
  readonly url: string;
  /** Signs what is sent; the receiver has it too. */
  readonly secret: string;
  /** Undelivered for good, or no room to wait: for logs and metrics. */
  readonly onDropped: (event: WebhookEvent, why: string) => void;
  /** For tests: the wait before an attempt that follows on so many failed ones, in milliseconds. */
  readonly waitMs?: (failed: number) => number;
  readonly clock?: Clock;
}

export interface WebhookStats {
  readonly delivered: number;
  /** Attempts that failed. */
  readonly failed: number;
  readonly dropped: number;
  readonly waiting: number;
}

export interface Webhook {
  /** Returns at once; a receiver that is slow or away delays nobody. */
  send(event: WebhookEvent): void;
  stats(): WebhookStats;
  /** Gives up what is not delivered yet. */
  close(): void;
}

/** Events that may wait, with those that are tried again. */
export const mostWaiting = 1000;
const attemptsAtOnce = 4;
const attemptMs = 10_000;
/** About a day in all. */
const mostAttempts = 10;
const longestWaitMs = 6 * 3_600_000;

/** 5 s, 30 s, 3 min and so on, six times each, with jitter so that many events do not come back together. */
const usualWait = (failed: number): number => Math.min(longestWaitMs, 5000 * 6 ** (failed - 1)) * (0.8 + 0.4 * Math.random());

/** As Standard Webhooks writes keys: `whsec_` and base64. Any other text is the key itself. */
const keyOf = (secret: string): string | Buffer => (secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret);

/** The signature of Standard Webhooks 1.0: HMAC-SHA-256 over id, time in seconds and body. */
export function signatureOf({ id, seconds, body }: { id: string; seconds: number; body: string }, secret: string): string {
  return `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${seconds}.${body}`).digest('base64')}`;
}

/**
 * Tells events to a URL by POST, signed as Standard Webhooks 1.0 has it (`webhook-id`, `webhook-timestamp`, `webhook-signature`). Any answer of
 * 2xx is a delivery; 410 ends it; everything else is tried again, ten times within about a day. What waits is bounded and is lost when the
 * process ends.
 */
export function webhook({ url, secret, onDropped, waitMs = usualWait, clock = systemClock() }: WebhookOptions): Webhook {
  const ready: { event: WebhookEvent; failed: number }[] = [];
  const timers = new Set<NodeJS.Timeout>();
  const ending = new AbortController();
  let running = 0;
  let delivered = 0;
  let failedAttempts = 0;
  let dropped = 0;

  function drop(event: WebhookEvent, why: string): void {
    dropped += 1;
    onDropped(event, why);
  }

  /** Undefined if it arrived; else why not. */
  async function attempt({ id, type, data }: WebhookEvent): Promise<string | undefined> {
    const seconds = Math.floor(clock.nowUs() / 1e6);
    const body = JSON.stringify({ type, timestamp: new Date(seconds * 1000).toISOString(), data });
    try {
      const answer = await fetch(url, {
        method: 'POST',
        redirect: 'error',
        signal: AbortSignal.any([ending.signal, AbortSignal.timeout(attemptMs)]),
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(seconds),
          'webhook-signature': signatureOf({ id, seconds, body }, secret),
        },
        body,
      });
      await answer.body?.cancel();
      return answer.ok ? undefined : `status ${answer.status}`;
    } catch (error) {
      return (error as Error).name === 'TimeoutError' ? 'no answer in time' : 'no connection';
    }
  }

  async function deliver(item: { event: WebhookEvent; failed: number }): Promise<void> {
    const why = await attempt(item.event);
    if (ending.signal.aborted) return;
    if (why !== undefined) failedAttempts += 1;
    if (why === undefined) delivered += 1;
    else if (why === 'status 410' || item.failed + 1 >= mostAttempts) drop(item.event, why);
    else {
      const failed = item.failed + 1;
      const timer = setTimeout(() => {
        timers.delete(timer);
        ready.push({ event: item.event, failed });
        work();
      }, waitMs(failed)).unref();
      timers.add(timer);
    }
  }

  function work(): void {
    while (running < attemptsAtOnce && ready.length > 0) {
      const item = ready.shift();
      if (item === undefined) return;
      running += 1;
      void deliver(item).finally(() => {
        running -= 1;
        work();
      });
    }
  }

  const waiting = (): number => ready.length + timers.size + running;

  return {
    send(event) {
      if (ending.signal.aborted) return;
      if (waiting() >= mostWaiting) {
        drop(event, `over ${mostWaiting} events wait`);
        return;
      }
      ready.push({ event, failed: 0 });
      work();
    },
    stats: () => ({ delivered, failed: failedAttempts, dropped, waiting: waiting() }),
    close() {
      ending.abort();
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      ready.length = 0;
    },
  };
}
