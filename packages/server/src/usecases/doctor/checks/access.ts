import type { NodeFacts } from '../facts.js';
import { ok, plural, unread, type Finding } from '../finding.js';

/** Whether the user may do all that Headgate does. */
export function aclCommands({ access, role }: NodeFacts): Finding[] {
  const id = 'acl-commands';
  if (access === undefined) return [unread(id, 'what the user may do')];
  const user = access.user ?? 'USER';
  const denied = access.refused.filter(({ missing }) => !missing).map(({ rule }) => rule);
  const missing = access.refused.filter((refused) => refused.missing).map(({ rule }) => rule.slice(1).toUpperCase());
  if (denied.length === 0 && missing.length === 0) {
    return [ok(id, `all of ${plural(access.tried, 'command')}${access.user === undefined ? '' : `, for user ${user}`}`)];
  }
  // The client goes on without INFO if it is denied, but not if it is not there.
  const onlyInfo = missing.length === 0 && denied.every((rule) => rule === '+info');
  const found = [
    ...(denied.length > 0 ? [`user ${user} lacks ${denied.join(' ')}`] : []),
    ...(missing.length > 0 ? [`renamed or disabled: ${missing.join(', ')}`] : []),
  ].join('; ');
  const why = onlyInfo
    ? 'The client cannot tell whether Redis is still loading; decisions in that time fail one by one.'
    : role === 'master'
      ? 'Headgate needs them: decisions that use them are degraded.'
      : 'After a failover to it, decisions that use them are degraded: each server has its own list of users.';
  const mend = [
    ...(denied.length > 0 ? [`ACL SETUSER ${user} ${denied.join(' ')} (and ACL SAVE, or in redis.conf)`] : []),
    ...(missing.length > 0 ? [`remove ${missing.map((name) => `rename-command ${name}`).join(', ')} from redis.conf and restart`] : []),
  ].join('; ');
  return [{ id, severity: onlyInfo ? 'warning' : 'error', found, why, mend }];
}
