import { millionth } from '../../limit.js';
import { StoreError } from '../../errors.js';
import { outcomeOf } from '../outcome.js';
import type { Check, Group, GroupOutcome } from '../store.js';

/** A batch as the take-groups script takes it; see its header. */
export interface GroupsCall {
  readonly keys: readonly string[];
  readonly args: readonly [shape: string];
}

const isPlain = ({ limit, least, aheadUs, countRefused, shadow }: Check): boolean =>
  (limit.kind === 'tokenBucket' || limit.kind === 'fixedWindow') &&
  least === undefined &&
  aheadUs === undefined &&
  countRefused === undefined &&
  shadow === undefined;

function shapeOf({ limit, cost }: Check): string {
  if (limit.kind === 'tokenBucket') return `1,${limit.creditUnits},${limit.creditUs},${cost * millionth},${limit.capacity * millionth}`;
  if (limit.kind !== 'fixedWindow') return '';
  return `2,${limit.windowUs},${limit.from === 'epoch' ? 0 : 1},${cost},${limit.limit}`;
}

const isLike = (a: Check, b: Check | undefined): boolean => b !== undefined && a.limit === b.limit && a.cost === b.cost && isPlain(b);

/** The call for a batch of groups of plain checks of buckets and fixed windows that differ only in their keys; undefined for any other. */
export function encodeGroups(groups: readonly Group[], keyOf: (check: Check) => string): GroupsCall | undefined {
  const first = groups[0]?.checks;
  if (first === undefined || !first.every(isPlain)) return undefined;
  const keys: string[] = [];
  for (const { checks, dry } of groups) {
    if (dry !== undefined || checks.length !== first.length) return undefined;
    for (let i = 0; i < first.length; i += 1) {
      const [check, like] = [checks[i], first[i]];
      if (check === undefined || like === undefined || (checks !== first && !isLike(like, check))) return undefined;
      keys.push(keyOf(check));
    }
  }
  if (new Set(keys).size < keys.length) return undefined;
  return { keys, args: [`[${first.map(shapeOf).join(',')}]`] };
}

/** Decodes the list of take-groups. No key is in it twice, so each check's cost is its own. */
export function decodeGroups(reply: unknown, groups: readonly Group[]): { now: number; verdicts: (GroupOutcome | 'odd')[]; odd: boolean } {
  if (!Array.isArray(reply)) throw new StoreError('the take-groups script answered with something that is no list');
  const now = Number(reply[0]);
  let at = 1;
  let odd = false;
  const next = (): number => Number(reply[at++]);
  const verdicts = groups.map(({ checks }): GroupOutcome | 'odd' => {
    if (reply[at] === 'O') {
      at += 1;
      odd = true;
      return 'odd';
    }
    const views = checks.map(({ limit }) => (limit.kind === 'tokenBucket' ? [next()] : [next(), next()]));
    const allowed = views.every(([head = Number.NaN]) => head >= 0);
    const outcomes = checks.map((check, index) => {
      const [head = Number.NaN, ...rest] = views[index] ?? [];
      const view = head >= 0 ? [head, ...rest] : [-1 - head, ...rest];
      return outcomeOf({ check, cost: check.cost, now, view, allowed: head >= 0, taken: allowed ? check.cost : 0 });
    });
    return { now, allowed, outcomes, source: 'store', degraded: false };
  });
  return { now, verdicts, odd };
}
