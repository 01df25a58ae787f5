import { tellFetch } from '../channels.js';
import type { Clock } from '../clock.js';
import { Decided } from '../decided.js';
import type { Decision } from '../decision.js';
import { OutboundError, show } from '../errors.js';
import type { Limiter } from '../limiter-types.js';
import { sleep } from '../turn.js';
import { hold } from './hold.js';
import type { Calling, OutboundFetch } from './options.js';
import { waitSaid } from './said.js';
import { look, wasUnsent } from './sending.js';

export interface Caller extends Calling {
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly rule: string;
  readonly key: string;
}

/** The first wait before a repetition where the answer names none; it doubles. */
const firstBackoffMs = 1000;

/** Those that wait for the same instant come a little apart. */
const apart = (): number => Math.random() * 10;

const noTurn = ({ rule }: Caller, decision: Decision): OutboundError =>
  new OutboundError(
    'HEADGATE_NO_TURN',
    `fetch: rule ${show(rule)} has no turn soon enough (${decision.reason}; ${decision.retryAfterMs} ms); nothing was sent`,
    decision,
  );

interface Waiting {
  /** Milliseconds that may still be waited. */
  readonly leftMs: () => number;
  readonly signal: AbortSignal | undefined;
}

/** Takes a turn and waits for it; over a hold it waits too. @throws OutboundError if that would take too long; nothing stays taken then */
async function takeTurn(caller: Caller, { leftMs, signal }: Waiting): Promise<Decision> {
  const { limiter, clock, rule, key, check } = caller;
  for (;;) {
    const maxWait = Math.max(1, Math.floor(leftMs()));
    const decision = await limiter.acquire(rule, key, { ...check, maxWait, ...(signal && { signal }) });
    // Who has waited may have been held back meanwhile, by an answer to another call.
    const waited = decision.allowed && Decided.turnOf(decision) > 0;
    const now = waited ? await limiter.peek(rule, key, check) : decision;
    const held = now.reason === 'banned' && !now.shadow;
    if (decision.allowed && !held) return decision;
    if (decision.allowed) await limiter.refund(decision);
    if (!held || now.retryAfterMs > leftMs()) throw noTurn(caller, now);
    await sleep(clock, Math.min(leftMs(), now.retryAfterMs + apart()), signal);
  }
}

/** A call that is under way, and by when it must be over. */
class Deadline {
  readonly #passed = new AbortController();
  readonly #clock: Clock;
  readonly #untilUs: number;
  #cancel: () => void = () => undefined;
  /** Resolves when it passes. */
  readonly over: Promise<void>;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#untilUs = clock.nowUs() + ms * 1000;
    this.over = new Promise((resolve) => {
      this.#cancel = clock.after(ms, () => {
        this.#passed.abort();
        resolve();
      });
    });
  }

  leftMs(): number {
    return (this.#untilUs - this.#clock.nowUs()) / 1000;
  }

  get passed(): boolean {
    return this.#passed.signal.aborted;
  }

  /** A signal that aborts by the deadline too. */
  with(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#passed.signal : AbortSignal.any([signal, this.#passed.signal]);
  }

  /** The answer is there: its body may take as long as it likes. */
  end(): void {
    this.#cancel();
  }
}

/** What a call has asked of `fetch`, and until when. */
interface Under {
  readonly deadline: Deadline;
  readonly decision: Decision;
  readonly signal: AbortSignal | undefined;
}

async function sendOnce(caller: Caller, { deadline, decision, signal }: Under, args: Parameters<OutboundFetch>): Promise<Response> {
  const [input, init] = args;
  const isLate = deadline.leftMs() <= 0;
  if (isLate || signal?.aborted) await caller.limiter.refund(decision);
  signal?.throwIfAborted();
  if (isLate) throw noTurn(caller, decision);
  try {
    return await caller.send(input, { ...init, signal: deadline.with(signal) });
  } catch (error) {
    if (wasUnsent(error)) await caller.limiter.refund(decision);
    if (!deadline.passed || signal?.aborted) throw error;
    throw new OutboundError('HEADGATE_DEADLINE', `fetch: no answer within ${caller.deadlineMs} ms; it may have been carried out`, decision);
  }
}

/** One of the times that a call is sent. */
interface Sent {
  readonly response: Response;
  /** For how long the answer says that nothing may be sent, in milliseconds. */
  readonly said: number | undefined;
}

interface Attempt {
  readonly attempt: number;
  readonly deadline: Deadline;
  readonly signal: AbortSignal | undefined;
}

/** Waits for a turn, sends, and holds back the others if the answer says so. */
async function attemptOnce(caller: Caller, { attempt, deadline, signal }: Attempt, args: Parameters<OutboundFetch>): Promise<Sent> {
  const { clock, rule, maxWaitMs, maxHoldMs } = caller;
  const askedUs = clock.nowUs();
  const sinceMs = (us: number): number => (clock.nowUs() - us) / 1000;
  let waitedMs: number | undefined;
  let sent: { readonly tookMs: number; readonly status: number | undefined } | undefined;
  let heldMs = 0;
  try {
    const leftMs = (): number => Math.min(deadline.leftMs(), maxWaitMs - sinceMs(askedUs));
    const decision = await takeTurn(caller, { leftMs, signal });
    waitedMs = sinceMs(askedUs);
    const sentUs = clock.nowUs();
    const response = await sendOnce(caller, { deadline, decision, signal }, args).finally(() => {
      sent = { tookMs: sinceMs(sentUs), status: undefined };
    });
    sent = { tookMs: sinceMs(sentUs), status: response.status };
    const said = waitSaid(response, clock.nowUs() / 1000);
    if (said !== undefined && said > 0) {
      heldMs = Math.min(maxHoldMs, Math.ceil(said));
      await Promise.race([hold(caller, heldMs), deadline.over]);
    }
    return { response, said };
  } finally {
    tellFetch({ rule, attempt, waitedMs: waitedMs ?? sinceMs(askedUs), tookMs: sent?.tookMs, status: sent?.status, heldMs });
  }
}

/** Calls a partner when it is our turn, and again where it says so and that is safe. */
export async function callInTurn(caller: Caller, ...args: Parameters<OutboundFetch>): Promise<Response> {
  const { clock, deadlineMs, retries } = caller;
  const { signal, repeatable } = look(...args);
  const deadline = new Deadline(clock, deadlineMs);
  try {
    for (let attempt = 0; ; attempt += 1) {
      const { response, said } = await attemptOnce(caller, { attempt, deadline, signal }, args);
      if (attempt >= retries || !repeatable(response.status)) return response;
      const waitMs = (said ?? firstBackoffMs * 2 ** attempt * (0.5 + Math.random() / 2)) + apart();
      if (waitMs > deadline.leftMs()) return response;
      // Its connection is free for others.
      await response.body?.cancel().catch(() => undefined);
      await sleep(clock, waitMs, signal);
    }
  } finally {
    deadline.end();
  }
}
