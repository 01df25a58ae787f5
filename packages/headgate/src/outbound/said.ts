/** A number of seconds, or a moment as seconds or milliseconds since 1970: no reset is 30 years away. */
const isMoment = 1e9;
const isMomentMs = 1e12;

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `6m0s`, `12ms`; undefined if it is no such text. */
function readUnits(text: string): number | undefined {
  if (!/^(\d{1,9}(\.\d{1,9})?(ms|s|m|h|d))+$/.test(text)) return undefined;
  return [...text.matchAll(/([\d.]+)(ms|s|m|h|d)/g)].reduce((sum, [, n, unit = '']) => sum + Number(n) * (unitMs[unit] ?? 0), 0);
}

/** Milliseconds from now of a wait as partners write it: seconds, a moment, a date, or `6m0s`; undefined if it cannot be read. */
function readWait(text: string, nowMs: number): number | undefined {
  if (/^\d{1,15}(\.\d{1,9})?$/.test(text)) {
    const number = Number(text);
    const ms = number < isMoment ? number * 1000 : number < isMomentMs ? number * 1000 - nowMs : number - nowMs;
    return Math.max(0, ms);
  }
  const inUnits = readUnits(text);
  if (inUnits !== undefined) return inUnits;
  // HTTP dates and RFC 3339; what else Date.parse would make a date of is none.
  const at = /^((Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? |\d{4}-\d\d-\d\dT)/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

const member = /(?:"(?:[^"\\]|\\.)*"|[a-z*][\w.*/:-]*)((?:;[^,;"]*(?:"(?:[^"\\]|\\.)*")?)*)/gi;

/** What `RateLimit` says: draft 8 to 11 (`"a";r=0;t=30`), and draft 7 (`limit=10, remaining=0, reset=30`). */
function rateLimitWaits(value: string): number[] {
  const left = /^\s*limit=\d+,/.test(value) ? value.matchAll(/^(.*)$/gs) : value.matchAll(member);
  return [...left].flatMap(([, parameters = '']) => {
    const [, remaining] = /[;,]\s*r(?:emaining)?=(\d{1,15})/.exec(parameters) ?? [];
    const [, seconds] = /[;,]\s*(?:t|reset)=(\d{1,15})/.exec(parameters) ?? [];
    return remaining === undefined || seconds === undefined || Number(remaining) > 0 ? [] : [Number(seconds) * 1000];
  });
}

/** What pairs such as `X-RateLimit-Remaining` and `X-RateLimit-Reset` say, also with `-After` and of several budgets (`-requests`). */
function pairWaits({ status, headers }: Answer, nowMs: number): number[] {
  const waits = new Map<string, number>();
  for (const [name, value] of headers) {
    const [, base, after, budget = ''] = /^((?:x-)?rate-?limit)-reset(-after)?(-.*)?$/.exec(name) ?? [];
    if (base === undefined) continue;
    const remaining = headers.get(`${base}-remaining${budget}`);
    const usedUp = remaining === null ? status === 429 : /^0+(\.0*)?$/.test(remaining.trim());
    const wait = usedUp ? readWait(value.trim(), nowMs) : undefined;
    // A span needs no clock.
    if (wait !== undefined && (after !== undefined || !waits.has(base + budget))) waits.set(base + budget, wait);
  }
  return [...waits.values()];
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
}

/**
 * For how long an answer says that no more may be sent, in milliseconds; undefined if it does not say. `Retry-After` counts before all others,
 * where the answer is an error; the others where nothing is left, by the longest. Moments are taken by the partner's own clock (`Date`), where
 * it tells it.
 */
export function waitSaid(answer: Answer, ourNowMs: number): number | undefined {
  const { status, headers } = answer;
  const theirs = Date.parse(headers.get('date') ?? '');
  const nowMs = Number.isNaN(theirs) ? ourNowMs : theirs;
  const retryAfter = status < 400 ? null : headers.get('retry-after');
  const said = retryAfter === null ? undefined : readWait(retryAfter.trim(), nowMs);
  if (said !== undefined) return said;
  const waits = [...rateLimitWaits(headers.get('ratelimit') ?? ''), ...pairWaits(answer, nowMs)];
  return waits.length === 0 ? undefined : Math.max(...waits);
}
