import { millionth } from '../../limit.js';
import { StoreError } from '../../errors.js';
import type { Check, Group, GroupOutcome } from '../store.js';
import { Reader, verdictOf } from './wire.js';

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

/** Decodes the list of take-groups. */
export function decodeGroups(reply: unknown, groups: readonly Group[]): { now: number; verdicts: (GroupOutcome | 'odd')[]; odd: boolean } {
  if (!Array.isArray(reply)) throw new StoreError('the take-groups script answered with something that is no list');
  const now = Number(reply[0]);
  const reader = new Reader(reply);
  let odd = false;
  const verdicts = groups.map((group) => {
    if (reader.peek() !== 'O') return verdictOf(group, reader, now) as GroupOutcome;
    reader.next();
    odd = true;
    return 'odd';
  });
  return { now, verdicts, odd };
}
