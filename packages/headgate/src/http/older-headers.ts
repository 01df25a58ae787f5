import { hasNumbers, isStricter, list, memberWith, seconds, told, units, type Answered } from './headers.js';

type Fields = Record<string, string>;

/**
 * Milliseconds that these formats call the reset. Of a refusal it is the wait, so that `Retry-After` is never before it; nobody knows when
 * a holder is done.
 */
function resetMs({ decision, limit }: Answered): number | undefined {
  const { allowed, retryAfterMs, resetAfterMs } = decision;
  if (!allowed && Number.isFinite(retryAfterMs)) return retryAfterMs;
  return limit.kind === 'concurrency' || !Number.isFinite(resetAfterMs) ? undefined : resetAfterMs;
}

const resetSeconds = (answered: Answered): number | undefined => {
  const ms = resetMs(answered);
  return ms === undefined ? undefined : seconds(ms * 1000);
};

/** The one rule that formats with room for one tell: that which binds most. None if it has no numbers: those of another would mislead. */
function bindingOf(answers: readonly Answered[]): Answered | undefined {
  const counted = told(answers).filter(({ limit }) => limit.kind !== 'unlimited');
  if (counted.length === 0) return undefined;
  const binding = counted.reduce((a, b) => (isStricter(b.decision, a.decision) ? b : a));
  return hasNumbers(binding) ? binding : undefined;
}

/** `RateLimit-Policy` before names: `100;w=60`. The window is required, so limits without one are left out. */
function namelessPolicies(answers: readonly Answered[], parametersOf: (answered: Answered) => string | undefined): Fields {
  const policies = list(told(answers), (answered) => {
    const [, quota, window] = /;q=(\d+);w=(\d+)/.exec(parametersOf(answered) ?? '') ?? [];
    return quota === undefined || window === undefined ? undefined : `${quota};w=${window}`;
  });
  return policies === undefined ? {} : { 'RateLimit-Policy': policies };
}

/** draft-ietf-httpapi-ratelimit-headers-06: four fields, about the rule that binds most. */
export function draft6(answers: readonly Answered[], parametersOf: (answered: Answered) => string | undefined): Fields {
  const fields = namelessPolicies(answers, parametersOf);
  const binding = bindingOf(answers);
  const reset = binding && resetSeconds(binding);
  if (binding === undefined || reset === undefined) return fields;
  const { limit, remaining } = binding.decision;
  return {
    ...fields,
    'RateLimit-Limit': String(units(limit)),
    'RateLimit-Remaining': String(units(remaining)),
    'RateLimit-Reset': String(reset),
  };
}

/** draft-ietf-httpapi-ratelimit-headers-07: the same in one dictionary. */
export function draft7(answers: readonly Answered[], parametersOf: (answered: Answered) => string | undefined): Fields {
  const fields = namelessPolicies(answers, parametersOf);
  const binding = bindingOf(answers);
  const reset = binding && resetSeconds(binding);
  if (binding === undefined || reset === undefined) return fields;
  const { limit, remaining } = binding.decision;
  return { ...fields, RateLimit: `limit=${units(limit)}, remaining=${units(remaining)}, reset=${reset}` };
}

/** draft-ietf-httpapi-ratelimit-headers-08: names and lists as now, but `t` is the time until the reset. */
export function draft8(answers: readonly Answered[]): Fields {
  const states = list(told(answers), (answered) => memberWith(answered, resetSeconds));
  return states === undefined ? {} : { RateLimit: states };
}

/** When the reset is, in seconds since 1970, rounded up. */
const epochOf = ({ decision }: Answered, ms: number): number => Math.ceil(decision.decidedAt / 1e6 + ms / 1000);

/** `X-RateLimit-*`, about the rule that binds most; the reset in seconds from now, or since 1970. */
export function xRateLimit(answers: readonly Answered[], reset: 'seconds' | 'epoch'): Fields {
  const binding = bindingOf(answers);
  if (binding === undefined) return {};
  const { limit, remaining, allowed, decidedAt } = binding.decision;
  const fields: Fields = { 'X-RateLimit-Limit': String(units(limit)), 'X-RateLimit-Remaining': String(units(remaining)) };
  const ms = resetMs(binding);
  if (ms === undefined) return fields;
  if (reset === 'seconds') return { ...fields, 'X-RateLimit-Reset': String(seconds(ms * 1000)) };
  const at = epochOf(binding, ms);
  fields['X-RateLimit-Reset'] = String(at);
  // Rounded to a whole second since 1970 the reset may be a second later than the wait in whole seconds.
  if (!allowed && Number.isFinite(binding.decision.retryAfterMs)) fields['Retry-After'] = String(Math.ceil(at - decidedAt / 1e6));
  return fields;
}
