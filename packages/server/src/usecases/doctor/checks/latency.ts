import type { Facts, NodeFacts, SlowCommand } from '../facts.js';
import { ok, plural, unread, type Finding, type Severity } from '../finding.js';
import { percentile } from '../timing.js';

const ms = (value: number): string => `${value.toFixed(2)} ms`;

interface Times {
  readonly p50: number;
  readonly p99: number;
  readonly text: string;
}

function timesIn(samples: readonly number[], what: string): Times {
  const [p50, p99] = [percentile(samples, 0.5), percentile(samples, 0.99)];
  return { p50, p99, text: `p50 ${ms(p50)}, p99 ${ms(p99)} of ${plural(samples.length, what)}` };
}

function judged({ p50, p99 }: Times, deadlineMs: number): Severity {
  if (p50 >= deadlineMs) return 'error';
  return p99 >= deadlineMs / 2 ? 'warning' : 'ok';
}

const whySlow = (severity: Severity, deadlineMs: number): string =>
  severity === 'error'
    ? `A decision has ${deadlineMs} ms, so more than half of them are degraded.`
    : `A decision has ${deadlineMs} ms; the slowest come near it or beyond, and those are degraded.`;

export function roundTrip({ trips, role }: NodeFacts, { deadlineMs }: Facts): Finding[] {
  const id = 'round-trip';
  if (trips === undefined || trips.length === 0) return [unread(id, 'round trips (TIME)')];
  const times = timesIn(trips, 'TIME call');
  const severity = judged(times, deadlineMs);
  // A replica's is slow only after a failover.
  if (severity === 'ok' || role === 'replica') return [{ ...ok(id, times.text), severity: severity === 'ok' ? 'ok' : 'info' }];
  const mend = 'Run Headgate nearer to Redis (same zone), relieve its CPU or network, or set HEADGATE_DEADLINE higher.';
  return [{ id, severity, found: times.text, why: whySlow(severity, deadlineMs), mend }];
}

/** Microseconds inside the server for each script call since it started. */
function insideServer({ info }: NodeFacts): string {
  const each = /usec_per_call=([\d.]+)/.exec(info.get('cmdstat_evalsha') ?? '')?.[1];
  return each === undefined ? '' : `; scripts took ${Math.round(Number(each))} us each inside Redis since it started`;
}

const causes: Readonly<Record<string, string>> = {
  OOM: 'Memory is full: see memory-used.',
  NOPERM: 'The user lacks commands: see acl-commands.',
  READONLY: 'It is a replica: see topology.',
  MOVED: 'It is a node of a Cluster: see topology.',
  MISCONF: 'It cannot write to its disk: see disk-writes.',
  NOREPLICAS: 'Too few replicas are in touch: see failover-loss.',
  LOADING: 'It is still loading.',
};

/** Checks made through the library, as the service makes them. */
export function checkTime(node: NodeFacts, { deadlineMs }: Facts): Finding[] {
  const id = 'check-time';
  const { checks, role } = node;
  if (role === 'replica') return [];
  if (checks === undefined) return [unread(id, 'the time of a check')];
  const [fault] = checks.faults;
  if (fault !== undefined) {
    const why = 'What this check met, every decision meets: all are degraded.';
    return [
      {
        id,
        severity: 'error',
        found: `a check through the library failed: ${fault}`,
        why,
        mend: causes[fault] ?? 'See the other findings.',
      },
    ];
  }
  const times = timesIn(checks.times, 'check');
  const severity = judged(times, deadlineMs);
  const found = times.text + insideServer(node);
  if (severity === 'ok') return [ok(id, found)];
  const mend = 'See round-trip and slow-commands; a busy Redis needs shards, a busy machine more CPU, or set HEADGATE_DEADLINE higher.';
  return [{ id, severity, found, why: whySlow(severity, deadlineMs), mend }];
}

const recentSeconds = 24 * 3600;

/** Commands that held everybody up for longer than a decision has. */
export function slowCommands({ slow, role }: NodeFacts, { deadlineMs }: Facts): Finding[] {
  const id = 'slow-commands';
  if (role === 'replica') return [];
  if (slow === undefined) return [unread(id, 'SLOWLOG')];
  const recent = slow.filter(({ ms: took, ageSeconds }) => took >= deadlineMs && ageSeconds <= recentSeconds);
  if (recent.length === 0) return [ok(id, `none of ${deadlineMs} ms in SLOWLOG in the last 24 h`)];
  const longest = new Map<string, SlowCommand>();
  for (const command of recent) if (command.ms > (longest.get(command.name)?.ms ?? 0)) longest.set(command.name, command);
  const worst = [...longest.values()].sort((a, b) => b.ms - a.ms).slice(0, 3);
  const found = `${recent.length} in the last 24 h: ${worst.map(({ name, ms: took }) => `${name} ${took.toFixed(0)} ms`).join(', ')}`;
  const why = `Redis does one thing at a time: whoever asked meanwhile waited longer than the ${deadlineMs} ms that a decision has.`;
  return [
    { id, severity: 'warning', found, why, mend: 'SLOWLOG GET shows who; SCAN instead of KEYS, UNLINK instead of DEL, FLUSHALL ASYNC.' },
  ];
}
