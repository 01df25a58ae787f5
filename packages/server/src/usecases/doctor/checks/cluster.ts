import type { ClusterMember, Facts, NodeFacts } from '../facts.js';
import { ok, plural, unread, type Finding } from '../finding.js';
import { numberIn } from '../info.js';

const allSlots = 16_384;

/** Ranges of slots that nobody of these holds, as `0-5460, 7000`. */
export function uncoveredSlots(members: readonly ClusterMember[]): { readonly count: number; readonly ranges: string } {
  const held = new Uint8Array(allSlots);
  for (const { slots } of members) for (const [first, last] of slots) held.fill(1, first, last + 1);
  const gaps: [number, number][] = [];
  for (let slot = 0; slot < allSlots; slot += 1) {
    const gap = gaps.at(-1);
    if (held[slot] === 1) continue;
    if (gap?.[1] === slot - 1) gap[1] = slot;
    else gaps.push([slot, slot]);
  }
  const shown = gaps.slice(0, 5).map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  const count = gaps.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  return { count, ranges: shown.join(', ') + (gaps.length > shown.length ? ', ...' : '') };
}

export function clusterState(_: unknown, { cluster }: Facts): Finding[] {
  const id = 'cluster-state';
  if (cluster === undefined) return [];
  const state = cluster.info.get('cluster_state');
  if (state === undefined) return [unread(id, 'CLUSTER INFO')];
  if (state === 'ok') return [ok(id, `ok, ${cluster.info.get('cluster_size') ?? '?'} masters with slots`)];
  const why = 'The Cluster refuses some or all keys (CLUSTERDOWN), and their decisions are degraded.';
  return [
    {
      id,
      severity: 'error',
      found: state,
      why,
      mend: 'See cluster-slots and cluster-node; redis-cli --cluster check HOST:PORT tells more.',
    },
  ];
}

export function clusterSlots(_: unknown, { cluster }: Facts): Finding[] {
  const id = 'cluster-slots';
  if (cluster === undefined) return [];
  const failing = cluster.members.filter(({ flags }) => flags.includes('fail'));
  const { count, ranges } = uncoveredSlots(cluster.members);
  const lost = uncoveredSlots(cluster.members.filter((member) => !failing.includes(member))).count - count;
  const suspected = numberIn(cluster.info, 'cluster_slots_pfail') ?? 0;
  if (count === 0 && lost === 0 && suspected === 0) return [ok(id, `all ${allSlots.toLocaleString('en')} served`)];
  const parts = [
    ...(count > 0 ? [`${plural(count, 'slot')} held by nobody (${ranges})`] : []),
    ...(lost > 0 ? [`${plural(lost, 'slot')} of masters that failed`] : []),
    ...(suspected > 0 ? [`${plural(suspected, 'slot')} of masters that may be failing`] : []),
  ];
  const percent = Math.ceil(((count + lost + suspected) / allSlots) * 100);
  const why = `Keys of these slots, ${percent}% of all, are decided without Redis.`;
  const mend =
    count > 0
      ? 'redis-cli --cluster fix HOST:PORT, or CLUSTER ADDSLOTSRANGE on the node that should hold them.'
      : 'Start the failed master, or CLUSTER FAILOVER FORCE on a replica of it.';
  return [{ id, severity: count + lost > 0 ? 'error' : 'warning', found: parts.join('; '), why, mend }];
}

/** What the Cluster itself thinks of its nodes. */
export function clusterNodes(_: unknown, { cluster }: Facts): Finding[] {
  if (cluster === undefined) return [];
  return cluster.members.flatMap(({ name, flags, linked, slots }): Finding[] => {
    const state = ['fail', 'fail?', 'noaddr', 'handshake'].find((flag) => flags.includes(flag));
    if (state === undefined && (linked || flags.includes('myself'))) return [];
    const found = `${flags.includes('master') ? 'master' : 'replica'}: ${state ?? 'disconnected'}`;
    const why = slots.length > 0 ? 'Its slots are not served.' : 'It cannot take over for another.';
    const severity = slots.length > 0 ? 'error' : 'warning';
    return [
      { id: 'cluster-node', severity, node: name, found, why, mend: 'Start it; if it is gone for good, CLUSTER FORGET on every node.' },
    ];
  });
}

export function fullCoverage({ role, config }: NodeFacts, { cluster }: Facts): Finding[] {
  const id = 'cluster-require-full-coverage';
  if (cluster === undefined || role === 'replica') return [];
  const value = config.get(id);
  if (value === undefined) return [unread(id, `${id} (CONFIG GET)`)];
  if (value === 'no') return [ok(id, 'no')];
  const why = "One lost shard makes all others refuse too: every key is decided without Redis, instead of that shard's only.";
  return [{ id, severity: 'warning', found: value, why, mend: `CONFIG SET ${id} no (on every node, and in redis.conf)` }];
}
