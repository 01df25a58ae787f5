import type { Facts, NodeFacts } from '../facts.js';
import { ok, seconds, unread, type Finding } from '../finding.js';
import { numberIn } from '../info.js';

const aof = 'CONFIG SET appendonly yes (and in redis.conf, or CONFIG REWRITE); appendfsync everysec is enough';

/** `3600 1 300 100` as `after 60 min with 1 change, 5 min with 100`. */
function savePoints(save: string): { readonly text: string; readonly longest: number } {
  const numbers = save.trim().split(/\s+/).map(Number);
  const points = numbers.flatMap((after, index) => (index % 2 === 0 ? [{ after, changes: numbers[index + 1] ?? 1 }] : []));
  const text = points.map(({ after, changes }) => `${seconds(after)} with ${changes.toLocaleString('en')} changes`).join(', ');
  return { text, longest: Math.max(...points.map(({ after }) => after)) };
}

/** What a restart would forget, in plain words. */
export function persistence({ info, config, role }: NodeFacts, { nodes }: Facts): Finding[] {
  const id = 'persistence';
  if (role === 'replica') return [];
  const appends = info.get('aof_enabled');
  if (appends === undefined) return [unread(id, 'persistence (INFO)')];
  if (appends === '1') {
    const fsync = config.get('appendfsync');
    if (fsync === undefined) return [ok(id, 'appendonly yes: a restart forgets little; could not read appendfsync')];
    if (fsync === 'always') return [ok(id, 'appendonly yes, appendfsync always: a restart forgets nothing that was answered')];
    if (fsync === 'everysec') return [ok(id, 'appendonly yes, appendfsync everysec: a crash of the machine forgets at most about 2 s')];
    const why = 'A crash of the machine forgets what the system had not written yet, usually up to 30 s of counts.';
    return [{ id, severity: 'info', found: `appendonly yes, appendfsync ${fsync}`, why, mend: 'CONFIG SET appendfsync everysec' }];
  }
  const save = config.get('save');
  if (save === undefined) {
    const why = 'Without appendonly a restart forgets what came after the last snapshot, or everything.';
    return [{ id, severity: 'warning', found: 'appendonly no; could not read save', why, mend: aof }];
  }
  if (save.trim() === '') {
    // Known for emptying whole deployments: the master comes back empty before anybody notices, and the replicas copy that.
    const spread = nodes.some((node) => node.role === 'replica')
      ? ' If it comes back before a failover, its replicas copy the emptiness.'
      : '';
    const why = `A restart forgets every count and every ban: all limits are full again, monthly quotas too.${spread}`;
    return [{ id, severity: 'warning', found: 'none: appendonly no, save ""', why, mend: aof }];
  }
  const { text, longest } = savePoints(save);
  const why = `A crash forgets every count since the last snapshot, up to ${seconds(longest)} or more: limits and quotas go back to what they were then.`;
  return [{ id, severity: 'warning', found: `snapshots only: appendonly no, save after ${text}`, why, mend: aof }];
}

/** Whether writing to disk works. */
export function diskWrites({ info, config }: NodeFacts): Finding[] {
  const id = 'disk-writes';
  const snapshot = info.get('rdb_last_bgsave_status');
  const append = info.get('aof_last_write_status');
  if (snapshot === undefined) return [unread(id, 'the state of the last snapshot (INFO)')];
  const failed = [
    ...(snapshot === 'err' ? ['the last snapshot'] : []),
    ...(append === 'err' ? ['the last write of the append-only file'] : []),
  ];
  if (failed.length === 0) return [ok(id, 'the last ones succeeded')];
  const saves = (config.get('save') ?? '').trim() !== '' && config.get('stop-writes-on-bgsave-error') !== 'no';
  const stops = append === 'err' || saves;
  const why = stops
    ? 'Redis refuses writes until it succeeds (MISCONF), so every decision is degraded.'
    : 'A restart forgets more than it should.';
  const mend = "Look into the server's log: the disk is full, or its folder may not be written.";
  return [{ id, severity: stops ? 'error' : 'warning', found: `${failed.join(' and ')} failed`, why, mend }];
}

/** A fork copies page tables while nothing is answered. */
export function forks({ info }: NodeFacts, { deadlineMs }: Facts): Finding[] {
  const id = 'fork-time';
  const ms = (numberIn(info, 'latest_fork_usec') ?? 0) / 1000;
  if (ms < deadlineMs) return [];
  const why = `Each snapshot or rewrite stops it that long; decisions have ${deadlineMs} ms, and those that fall into it are degraded.`;
  const mend = 'Less data in one server (shards), or a machine whose forks are faster; no transparent huge pages.';
  return [{ id, severity: 'warning', found: `the last fork took ${ms.toFixed(1)} ms`, why, mend }];
}
