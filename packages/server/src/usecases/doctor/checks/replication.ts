import type { Facts, NodeFacts } from '../facts.js';
import { bytes, ok, plural, seconds, unread, type Finding } from '../finding.js';
import { numberIn, replicasIn } from '../info.js';

const behindBytes = 1024 * 1024;
/** A replica acknowledges once a second. */
const behindSeconds = 3;
const clockMs = 100;

/** How a master's replicas are doing, as the master sees it. */
export function replicas({ role, info }: NodeFacts, { target }: Facts): Finding[] {
  const id = 'replicas';
  if (role === 'replica') return [];
  const offset = numberIn(info, 'master_repl_offset');
  if (offset === undefined) return [unread(id, 'replication (INFO)')];
  const lines = replicasIn(info);
  if (lines.length === 0) {
    const alone = target.kind === 'single';
    const why = alone
      ? 'While it is away every decision is degraded; if its disk is lost, so is every count.'
      : 'If it is lost nobody takes over: its keys are decided in degraded mode until it is back.';
    const mend = alone
      ? 'Add a replica and Sentinel, or a Cluster, if that is too little.'
      : 'Add a replica to it (REPLICAOF, CLUSTER REPLICATE).';
    return [{ id: alone ? id : 'master-without-replica', severity: alone ? 'info' : 'warning', found: 'no replica', why, mend }];
  }
  return lines.map(({ host, port, state, offset: acknowledged, lag }) => {
    const behind = Math.max(0, offset - acknowledged);
    const found = `${host}:${port}: ${state}, ${bytes(behind)} behind, last heard ${seconds(lag)} ago`;
    if (state === 'online' && behind < behindBytes && lag < behindSeconds) return ok(id, found);
    const why = 'A failover to it now forgets the counts that it has not got: their limits let more through.';
    const mend =
      "Look at the link and at the replica's load; raise client-output-buffer-limit for replicas and repl-backlog-size if it starts over.";
    return { id, severity: 'warning', found, why, mend };
  });
}

/** A replica's link, as the replica sees it: a master does not know of one that is gone. */
export function replicaLink({ role, info, fault }: NodeFacts): Finding[] {
  const id = 'replica-link';
  if (role === 'master' || fault !== undefined) return [];
  const state = info.get('master_link_status');
  if (state === undefined) return [unread(id, 'replication (INFO)')];
  const master = `${info.get('master_host') ?? '?'}:${info.get('master_port') ?? '?'}`;
  if (state === 'up') return [ok(id, `up, to ${master}`)];
  const down = numberIn(info, 'master_link_down_since_seconds');
  const for_ = down === undefined || down < 0 ? '' : ` for ${seconds(down)}`;
  const found = `down${for_}, to ${master}${info.get('master_sync_in_progress') === '1' ? '; a full copy is under way' : ''}`;
  const why = 'It gets no counts: taking over, it would bring back limits as they were when the link broke.';
  return [
    { id, severity: 'warning', found, why, mend: 'Check the address, masterauth/masteruser, TLS and the way to the master; then its log.' },
  ];
}

/** What a failover may forget although all is well. */
export function failoverLoss({ role, info, config }: NodeFacts, { target }: Facts): Finding[] {
  const id = 'failover-loss';
  const lines = replicasIn(info);
  if (role === 'replica' || lines.length === 0) return [];
  const [least, lag] = ['min-replicas-to-write', 'min-replicas-max-lag'].map((name) => numberIn(config, name));
  if (least === undefined || lag === undefined) return [unread(id, 'min-replicas-to-write (CONFIG GET)')];
  if (least > 0) {
    const good = numberIn(info, 'min_slaves_good_slaves');
    const found = `min-replicas-to-write ${least}, min-replicas-max-lag ${lag}`;
    if (good === undefined || good >= least) return [ok(id, `${found}: a failover forgets at most ${seconds(lag)}`)];
    const why = 'Too few replicas are in touch, so writes are refused (NOREPLICAS) and every decision is degraded.';
    return [
      {
        id,
        severity: 'error',
        found: `${found}, ${good} in touch`,
        why,
        mend: `Mend the replicas, or CONFIG SET min-replicas-to-write ${good}`,
      },
    ];
  }
  const alone =
    target.kind === 'cluster'
      ? 'A master that is cut off takes writes until cluster-node-timeout'
      : 'A master that is cut off goes on taking writes';
  return [
    {
      id,
      severity: 'info',
      found: 'min-replicas-to-write 0: no bound on what a failover forgets, usually well under a second',
      why: `Replication is asynchronous and Headgate does not WAIT for it. ${alone}, which the failover forgets.`,
      mend: 'CONFIG SET min-replicas-to-write 1 and CONFIG SET min-replicas-max-lag 10 bound it; then a lost replica refuses writes.',
    },
  ];
}

/** Whether a replica's clock is its master's: decisions are made by the clock of the server that holds the key. */
export function clocks({ role, clock, master, fault }: NodeFacts, { nodes }: Facts): Finding[] {
  const id = 'replica-clock';
  if (role === 'master' || fault !== undefined) return [];
  const theirs = nodes.find(({ name, role: its }) => its === 'master' && name === master)?.clock;
  if (clock === undefined || theirs === undefined) return [unread(id, 'both clocks (TIME)')];
  const ahead = clock.offsetMs - theirs.offsetMs;
  const within = clock.withinMs + theirs.withinMs;
  const size = Math.abs(ahead) < 2000 ? `${Math.abs(ahead).toFixed(1)} ms` : seconds(Math.abs(ahead) / 1000);
  const found = `${size} ${ahead < 0 ? 'behind' : 'ahead of'} its master (known to ${within.toFixed(1)} ms)`;
  if (Math.abs(ahead) - within < clockMs) return [ok(id, found)];
  const why =
    ahead > 0
      ? 'When it takes over, time jumps forward: windows end and buckets fill that much too early.'
      : 'When it takes over, time jumps back: clients wait that much longer, and windows last longer.';
  return [
    {
      id,
      severity: Math.abs(ahead) > 10_000 ? 'error' : 'warning',
      found,
      why,
      mend: 'Run chrony or another NTP client on both machines.',
    },
  ];
}

export function sentinels(_: unknown, { sentinel }: Facts): Finding[] {
  if (sentinel === undefined) return [];
  const id = 'sentinel-quorum';
  const count = (numberIn(sentinel.master, 'num-other-sentinels') ?? 0) + 1;
  const found = `${plural(count, 'sentinel')}, quorum ${sentinel.master.get('quorum') ?? '?'}`;
  const findings = sentinel.replicas.flatMap((replica): Finding[] => {
    const flags = replica.get('flags') ?? '';
    if (!/s_down|disconnected/.test(flags) && replica.get('master-link-status') === 'ok') return [];
    const why = 'Sentinel does not choose it in a failover.';
    const state = /s_down|disconnected/.test(flags) ? 'down' : 'not linked to its master';
    const node = `${replica.get('ip') ?? ''}:${replica.get('port') ?? ''}`;
    return [
      {
        id: 'sentinel-replica',
        severity: 'warning',
        node,
        found: `for Sentinel it is ${state}`,
        why,
        mend: 'Start it, or SENTINEL RESET forgets it.',
      },
    ];
  });
  if (sentinel.quorum === 'lost') {
    const why = 'The sentinels in touch are too few to agree, so a lost master is not replaced.';
    return [
      { id, severity: 'error', found: `${found}: not reached`, why, mend: 'Start the missing sentinels; SENTINEL CKQUORUM tells more.' },
      ...findings,
    ];
  }
  if (count >= 3) return [ok(id, found), ...findings];
  const why = 'If a sentinel is lost together with the master, nobody promotes a replica.';
  return [{ id, severity: 'warning', found, why, mend: 'Run three sentinels on three machines.' }, ...findings];
}
