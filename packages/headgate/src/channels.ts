import { channel } from 'node:diagnostics_channel';
import type { Decision, Reason, Source } from './decision.js';
import type { LimiterEvent } from './events.js';

/** What `headgate:decision` tells of each decision; nothing of whom it is about, but through {@link DecisionMessage.decision}. */
export class DecisionMessage {
  readonly rule: string;
  readonly allowed: boolean;
  readonly reason: Reason;
  readonly source: Source;
  readonly degraded: boolean;
  /** Units asked for. */
  readonly cost: number;
  readonly limit: number;
  readonly remaining: number;
  /** 0 if allowed; `Infinity` if it never can pass. */
  readonly retryAfterMs: number;
  readonly shadow: boolean;
  readonly wouldAllow: boolean;
  /** Whether the request may pass by it: false too if it was allowed in a group that another check refused, and so took nothing. */
  readonly granted: boolean;
  readonly #decision: Decision;

  /** Made by limiters. */
  constructor(decision: Decision, granted: boolean) {
    const { rule, allowed, reason, source, degraded, cost, limit, remaining, retryAfterMs, shadow, wouldAllow } = decision;
    this.rule = rule;
    this.allowed = allowed;
    this.reason = reason;
    this.source = source;
    this.degraded = degraded;
    this.cost = cost;
    this.limit = limit;
    this.remaining = remaining;
    this.retryAfterMs = retryAfterMs;
    this.shadow = shadow;
    this.wouldAllow = wouldAllow;
    this.granted = granted;
    this.#decision = decision;
  }

  /** The decision as its caller gets it, with the key, which may be personal. No log or JSON of a message has it. */
  get decision(): Decision {
    return this.#decision;
  }
}

/** What `headgate:fetch` tells of each time that `limiter.fetch` has sent a call, or has not. No URL, no key. */
export interface FetchMessage {
  readonly rule: string;
  /** 0 for the first time that a call is sent, then how often it was sent before. */
  readonly attempt: number;
  /** Milliseconds from when the turn was asked for to when it came, or was refused. */
  readonly waitedMs: number;
  /** Milliseconds from sending to the head of the answer; undefined if it was not sent. */
  readonly tookMs: number | undefined;
  /** Of the answer; undefined if there was none. */
  readonly status: number | undefined;
  /** For how long the answer holds back all callers of the key, in milliseconds; 0 if it does not. */
  readonly heldMs: number;
}

/** The message of each channel. */
export interface ChannelMessages {
  readonly 'headgate:decision': DecisionMessage;
  readonly 'headgate:event': LimiterEvent;
  readonly 'headgate:fetch': FetchMessage;
}

const decisions = channel('headgate:decision');
const events = channel('headgate:event');
const fetches = channel('headgate:fetch');

/** Tells of a decision, if anybody listens. */
export function tellDecision(decision: Decision, groupAllowed = true): void {
  if (decisions.hasSubscribers) decisions.publish(new DecisionMessage(decision, decision.allowed && groupAllowed));
}

/** Tells of a change of state. */
export function tellEvent(event: LimiterEvent): void {
  if (events.hasSubscribers) events.publish(event);
}

/** Tells of a call that was sent, or was not. */
export function tellFetch(message: FetchMessage): void {
  if (fetches.hasSubscribers) fetches.publish(message);
}
