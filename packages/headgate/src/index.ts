/** Makes a limiter, and the shapes of its calls. */
export { createLimiter, type LimiterOptions } from './compose.js';
export type {
  AcquireOptions,
  AttemptResult,
  CheckOptions,
  CheckRequest,
  Limiter,
  LimiterStats,
  MissedCalls,
  PortableReceipt,
  Reservation,
  SetUsedOptions,
  Settlement,
  Taken,
} from './limiter-types.js';

/** Rules and the limits they name. */
export type { RuleOptions, WhenUnavailable } from './rule.js';
export type { Mode } from './mode.js';
export { concurrency, consecutiveFailures, fixedWindow, quota, slidingLog, slidingWindow, tokenBucket, unlimited } from './limit.js';
export { limitFrom } from './limit-from.js';
export { periodAt } from './calendar.js';
export type {
  ConcurrencyLimit,
  ConsecutiveFailuresLimit,
  CountedLimit,
  FixedWindowLimit,
  Limit,
  LimitKind,
  Period,
  QuotaLimit,
  SlidingLogLimit,
  SlidingWindowLimit,
  TokenBucketLimit,
  UnlimitedLimit,
} from './limit.js';
export type { Duration, Rate } from './duration.js';

/** Calls to others. */
export type { OutboundFetch, OutboundOptions } from './outbound/options.js';

/** Answers. */
export { limitOf } from './decided.js';
export type { Decision, GroupDecision, Reason, Source } from './decision.js';

/** The store in memory, and the contract of every store. */
export { memoryStore, type MemoryStore, type MemoryStoreOptions } from './stores/memory.js';
export type {
  Asking,
  Beat,
  Check,
  GiveBack,
  Group,
  GroupOutcome,
  LoneOutcome,
  Meeting,
  Members,
  Outcome,
  Receipt,
  Store,
  Target,
  Ticket,
} from './stores/store.js';
export { systemClock, type Clock } from './clock.js';

/** What a limiter tells of itself. */
export type { LimiterEvent, OnEvent } from './events.js';
export type { ChannelMessages, DecisionMessage, FetchMessage } from './channels.js';

/** Errors, with their codes. */
export { ConfigError, errorCodes, OutboundError, StoreError, type ErrorCode, type InputError } from './errors.js';
