import type { NodeFacts } from '../facts.js';
import { bytes, ok, plural, seconds, unread, type Finding } from '../finding.js';
import { numberIn, type Info } from '../info.js';

const mib = 1024 * 1024;
const keep = '(and in redis.conf, or CONFIG REWRITE)';

export function policy({ info }: NodeFacts): Finding[] {
  const id = 'maxmemory-policy';
  const found = info.get('maxmemory_policy');
  if (found === undefined) return [unread(id, 'maxmemory-policy (INFO)')];
  if (found === 'noeviction') return [ok(id, found)];
  const bounded = (numberIn(info, 'maxmemory') ?? 0) > 0;
  const why = bounded
    ? 'When memory is full, counters are dropped: their limits open again, silently, and whoever can fill the memory can open them.'
    : 'It does nothing while maxmemory is 0; once that is set, counters are dropped when memory is full, and limits open silently.';
  return [{ id, severity: bounded ? 'error' : 'warning', found, why, mend: `CONFIG SET maxmemory-policy noeviction ${keep}` }];
}

export function maxmemory({ info }: NodeFacts): Finding[] {
  const id = 'maxmemory';
  const most = numberIn(info, 'maxmemory');
  if (most === undefined) return [unread(id, 'maxmemory (INFO)')];
  if (most > 0) return [ok(id, bytes(most))];
  const total = numberIn(info, 'total_system_memory');
  const advice = total === undefined ? 'BYTES' : `${Math.max(1, Math.floor((total * 0.6) / mib))}mb`;
  return [
    {
      id,
      severity: 'warning',
      found: 'no bound',
      why: 'It grows until the system ends it, and then everything is forgotten; with a bound it refuses writes, and rules do what whenUnavailable says.',
      mend: `CONFIG SET maxmemory ${advice} ${keep}; leave room for forks and buffers, less in a container`,
    },
  ];
}

export function fullness({ info }: NodeFacts): Finding[] {
  const id = 'memory-used';
  const used = numberIn(info, 'used_memory');
  const most = numberIn(info, 'maxmemory');
  if (used === undefined || most === undefined) return [unread(id, 'used memory (INFO)')];
  if (most === 0) return [ok(id, bytes(used))];
  // Replication buffers do not count against the bound.
  const share = (used - (numberIn(info, 'mem_not_counted_for_evict') ?? 0)) / most;
  const found = `${bytes(used)} of ${bytes(most)} (${Math.max(0, Math.round(share * 100))}%)`;
  if (share < 0.75) return [ok(id, found)];
  const refuses = info.get('maxmemory_policy') === 'noeviction';
  const why = `When it is full, ${refuses ? 'writes are refused and decisions are degraded' : 'counters are dropped and limits open'}.`;
  const mend = 'Raise maxmemory, move what is not Headgate elsewhere (see foreign-keys), or add shards.';
  return [{ id, severity: share < 0.9 ? 'warning' : 'error', found, why, mend }];
}

const since = (info: Info): string => {
  const uptime = numberIn(info, 'uptime_in_seconds');
  return uptime === undefined ? '' : ` in the last ${seconds(uptime)}`;
};

export function evictions({ info }: NodeFacts): Finding[] {
  const id = 'evicted-keys';
  const count = numberIn(info, 'evicted_keys');
  if (count === undefined) return [unread(id, 'evicted_keys (INFO)')];
  if (count === 0) return [ok(id, `none${since(info)}`)];
  const why = 'Each may have been a counter, whose limit then opened.';
  const mend =
    info.get('maxmemory_policy') === 'noeviction'
      ? 'The policy is right now; CONFIG RESETSTAT starts the count anew.'
      : 'Give Headgate a Redis of its own with maxmemory-policy noeviction; CONFIG RESETSTAT starts the count anew.';
  return [{ id, severity: 'warning', found: `${plural(count, 'key')} evicted${since(info)}`, why, mend }];
}

const refusals: Readonly<Record<string, string>> = {
  OOM: 'memory was full',
  MISCONF: 'a snapshot had failed',
  NOREPLICAS: 'too few replicas were in touch',
};

/** Writes that the server refused: each was a decision made without it, if it was Headgate's. */
export function refusedWrites({ info }: NodeFacts): Finding[] {
  const id = 'refused-writes';
  if (info.size === 0) return [unread(id, 'error counts (INFO)')];
  const seen = Object.entries(refusals).flatMap(([code, saying]) => {
    const count = Number(/count=(\d+)/.exec(info.get(`errorstat_${code}`) ?? '')?.[1] ?? 0);
    return count > 0 ? [`${count.toLocaleString('en')} as ${saying} (${code})`] : [];
  });
  if (seen.length === 0) return [ok(id, `none${since(info)}`)];
  const why = 'Decisions whose writes were refused were degraded.';
  const mend = 'See memory-used, persistence and replicas; CONFIG RESETSTAT starts the count anew.';
  return [{ id, severity: 'warning', found: `${seen.join(', ')}${since(info)}`, why, mend }];
}
