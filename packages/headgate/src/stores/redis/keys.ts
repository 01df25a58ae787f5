import type { CountedLimit } from '../../limit.js';

/** Of the layout below; raised when states of an earlier one can no longer be read. */
const version = 2;

const letters: Record<CountedLimit['kind'], string> = {
  tokenBucket: 'b',
  fixedWindow: 'w',
  slidingWindow: 's',
  slidingLog: 'l',
  quota: 'q',
  concurrency: 'c',
  consecutiveFailures: 'a',
};

/**
 * All key formats: `<prefix>:<version>{<key>}<letter of the kind>:<rule>` holds a state, `…1:<id>` marks a receipt as given back,
 * `…m:<rule>` holds who counts on a key by itself, `<prefix>:<version>{fleet}f:<layout>` the processes that are there. The hash tag is
 * the key without the rule, so that one client's rules lie on one slot. Prefix and rule are percent-encoded, so no two pairs can meet.
 * No character more than that needs: with a hashed key of 16 and a rule of 6, a name of 30 is the longest that Redis keeps in 32 bytes.
 */
export interface KeyFormat {
  state(rule: string, key: string, kind: CountedLimit['kind']): string;
  marker(key: string, onceId: string): string;
  meeting(rule: string, key: string): string;
  /** Everybody's, and that of one layout. */
  fleet(layout: string): [everybody: string, alike: string];
}

/** The key formats under one prefix; `encode` makes a key fit for a hash tag. */
export function keyFormat(prefix: string, encode: (key: string) => string): KeyFormat {
  const head = `${encodeURIComponent(prefix)}:${version}{`;
  const tails = new Map<CountedLimit['kind'], Map<string, string>>();
  const tail = (rule: string, kind: CountedLimit['kind']): string => {
    let known = tails.get(kind);
    // Rules come from configuration; a service that keeps changing them still holds few.
    if (known === undefined || known.size > 10_000) {
      known = new Map();
      tails.set(kind, known);
    }
    let text = known.get(rule);
    if (text === undefined) {
      text = `}${letters[kind]}:${encodeURIComponent(rule)}`;
      known.set(rule, text);
    }
    return text;
  };
  return {
    state: (rule, key, kind) => head + encode(key) + tail(rule, kind),
    marker: (key, onceId) => `${head}${encode(key)}}1:${onceId}`,
    meeting: (rule, key) => `${head}${encode(key)}}m:${encodeURIComponent(rule)}`,
    fleet: (layout) => [`${head}fleet}f:`, `${head}fleet}f:${encodeURIComponent(layout)}`],
  };
}
