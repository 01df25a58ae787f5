import { ownKeys } from '../needed.js';
import type { Facts, NodeFacts } from '../facts.js';
import { ok, plural, unread, type Finding } from '../finding.js';
import { fieldsOf } from '../info.js';

/** Databases other than ours that hold keys, with their numbers. */
function otherDatabases({ info }: NodeFacts, ours: number): string[] {
  return [...info].flatMap(([name, value]) => {
    const number = /^db(\d+)$/.exec(name)?.[1];
    if (number === undefined || Number(number) === ours) return [];
    return [`${plural(Number(fieldsOf(value).get('keys') ?? 0), 'key')} in database ${number}`];
  });
}

/** Whether it is shared with something else, such as a cache. */
export function foreignKeys(node: NodeFacts, { prefix, target }: Facts): Finding[] {
  const id = 'foreign-keys';
  if (node.role === 'replica') return [];
  const { keys } = node;
  if (keys === undefined) return [unread(id, 'keys (SCAN)')];
  const others = otherDatabases(node, target.database);
  const scanned = `${keys.complete ? 'all' : 'a sample of'} ${plural(keys.sampled, 'key')}`;
  if (keys.foreign === 0 && others.length === 0) {
    return [ok(id, keys.sampled === 0 ? 'none; it is empty' : `none in ${scanned}`)];
  }
  const share = `${keys.foreign.toLocaleString('en')} of ${scanned}`;
  const names = keys.beginnings.length > 0 ? `, such as ${keys.beginnings.map((name) => `${name}*`).join(', ')}` : '';
  const found = [...(keys.foreign > 0 ? [`${share} do not begin with ${ownKeys(prefix)}${names}`] : []), ...others].join('; ');
  const why =
    'Others use the same memory and the same thread: a full cache evicts counters or refuses their writes, and slow commands delay decisions.';
  const mend = 'Give Headgate a Redis of its own, with noeviction; if these are counters under another prefix: --prefix PREFIX.';
  return [{ id, severity: 'warning', found, why, mend }];
}

export function lastingKeys({ role, keys }: NodeFacts): Finding[] {
  const id = 'keys-without-ttl';
  if (role === 'replica') return [];
  if (keys === undefined) return [unread(id, 'keys (SCAN)')];
  if (keys.lasting === 0) return [ok(id, `none of ${plural(keys.ours, 'counter')}`)];
  const why =
    'Headgate gives every key a TTL; someone took it away (PERSIST, a copy, a restore). Such a key stays until it is next checked.';
  const mend = 'Find who does it; DEL such keys, or leave them: the next check gives them a TTL again.';
  return [{ id, severity: 'warning', found: `${keys.lasting.toLocaleString('en')} of ${plural(keys.ours, 'counter')}`, why, mend }];
}
