import type { Headers } from 'headgate/http';
import { compileMatch, type MatchEntry } from '../../src/rules/match.js';
import { createMatcher, type Asked, type Line } from '../../src/rules/matcher.js';

/** A request, by what matters to a test. */
export interface Request {
  readonly method?: string;
  readonly target?: string;
  readonly lines?: readonly Line[];
  readonly host?: string | readonly string[];
  readonly headers?: Headers;
  readonly plan?: string;
}

export function asked({ method = 'GET', target = '/', lines, host = [], headers = {}, plan }: Request): Asked {
  return { lines: lines ?? [{ method, target }], hosts: [host].flat(), headers, plan };
}

/** Rules by the places of these entries. */
export function matcherOf(entries: readonly (MatchEntry | undefined)[]): (request: Request) => number[] {
  const rules = entries.map((entry, place) => ({ place, match: entry && compileMatch(entry) }));
  const matcher = createMatcher(rules);
  return (request) => matcher.match(asked(request)).map(({ place }) => place);
}

/** Whether a single rule is for a request. */
export const matches = (entry: MatchEntry, request: Request): boolean => matcherOf([entry])(request).length === 1;
