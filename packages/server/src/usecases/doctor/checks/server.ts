import type { Facts, NodeFacts } from '../facts.js';
import { ok, seconds, unread, type Finding } from '../finding.js';
import { atLeast, numberIn, serverIn } from '../info.js';
import { said } from '../node.js';

const oldest: Readonly<Record<string, readonly [number, number]>> = { Redis: [6, 2], Valkey: [7, 2] };

export function version({ info }: NodeFacts): Finding[] {
  const id = 'server-version';
  const server = serverIn(info);
  if (server === undefined) return [unread(id, 'the version (INFO)')];
  const found = `${server.kind} ${server.version}`;
  const least = oldest[server.kind];
  if (least === undefined) {
    const why = 'Headgate is tested on Redis and Valkey; the scripts of others may differ where it counts.';
    return [{ id, severity: 'warning', found, why, mend: 'Use Redis 6.2 or Valkey 7.2, or newer.' }];
  }
  if (atLeast(server.version, least)) return [ok(id, found)];
  const why = `Headgate uses commands that came with ${server.kind} ${least.join('.')}.`;
  return [{ id, severity: 'error', found, why, mend: `Upgrade to ${server.kind} ${least.join('.')} or newer.` }];
}

const kindSaid = { single: 'redis://', sentinel: 'redis+sentinel://', cluster: 'redis+cluster://' };

/** Whether the URL's form fits what is there. */
export function topology({ info, role, fault, master: follows }: NodeFacts, { target }: Facts): Finding[] {
  const id = 'topology';
  if (fault !== undefined) return [];
  const mode = info.get('redis_mode');
  const clustered = info.get('cluster_enabled') === '1' || mode === 'cluster';
  const wrong = (found: string, why: string, mend: string): Finding[] => [{ id, severity: 'error', found, why, mend }];
  if (mode === 'sentinel') {
    const mend = 'Write redis+sentinel://HOST:26379/NAME; SENTINEL MASTERS lists the names.';
    return wrong('this is a sentinel', 'A sentinel holds no keys; it only knows where the master is.', mend);
  }
  if (clustered && target.kind !== 'cluster') {
    return wrong(
      'a node of a Cluster',
      'Keys of other slots are refused (MOVED); their limits run degraded.',
      'Write redis+cluster:// instead.',
    );
  }
  // One that was found through its master is where it should be.
  if (target.kind === 'single' && role === 'replica' && follows === undefined) {
    const master = `${info.get('master_host') ?? 'MASTER'}:${info.get('master_port') ?? '6379'}`;
    return wrong(
      `a replica of ${master}`,
      'A replica takes no writes, so every decision is degraded.',
      `Name the master: redis://${master}`,
    );
  }
  if (info.size === 0) return [unread(id, 'the mode and role (INFO)')];
  const actual = info.get('role') === 'slave' ? 'replica' : 'master';
  if (actual !== role) {
    const why = 'Decisions go to a server that takes no writes until the others know of the change.';
    return wrong(
      `meant to be a ${role}, is a ${actual}`,
      why,
      'A failover may be under way: run this again in a minute, then look at the logs.',
    );
  }
  return [ok(id, `${role}, as ${kindSaid[target.kind]} expects`)];
}

/** Whether it answers at all, and whether it is ready to. */
export function answering({ fault, info, role }: NodeFacts): Finding[] {
  const id = 'answers';
  const severity = role === 'master' ? 'error' : 'warning';
  const why = role === 'master' ? 'Decisions on its keys are degraded.' : 'It cannot take over, or its state is not known from here.';
  if (fault === 'BUSY') {
    const mend = 'redis-cli SCRIPT KILL (FUNCTION KILL for a function); if it has written, only SHUTDOWN NOSAVE ends it.';
    return [{ id: 'busy', severity, found: 'busy: a script of someone has run for over busy-reply-threshold', why, mend }];
  }
  if (fault !== undefined) {
    return [{ id, severity, found: `cannot be asked: ${said(fault)}`, why, mend: 'Start it, or open the way from this machine to it.' }];
  }
  if (info.get('loading') !== '1' && info.get('async_loading') !== '1') return [ok(id, 'yes')];
  const eta = numberIn(info, 'loading_eta_seconds');
  const found = `loading its data${eta === undefined ? '' : `, for about ${seconds(eta)} more`}`;
  return [{ id: 'loading', severity, found, why, mend: 'Wait until it has loaded, then run this again.' }];
}

export function database({ database: chosen, access }: NodeFacts, { target }: Facts): Finding[] {
  // A user who may not SELECT is told so as a matter of the ACL.
  if (chosen !== 'refused' || access?.refused.some(({ rule }) => rule === '+select')) return [];
  const why = 'The client then stays in database 0, with keys of whoever uses that.';
  const mend = 'Choose a lower number in the URL, or raise `databases` in redis.conf and restart.';
  return [{ id: 'database', severity: 'error', found: `there is no database ${target.database}`, why, mend }];
}

/** What could not be read, in one place. */
export function unreadable({ unread: missing, fault, access }: NodeFacts): Finding[] {
  if (fault !== undefined || missing.length === 0) return [];
  const found = `could not read ${missing.map(({ what, fault: by }) => `${what} (${said(by)})`).join(', ')}`;
  const rules: Record<string, string> = {
    INFO: '+info',
    'CONFIG GET': '+config|get',
    SLOWLOG: '+slowlog|get',
    SCAN: '+scan',
    TIME: '+time',
  };
  const lacking = missing.flatMap(({ what, fault: by }) => (by === 'NOPERM' && rules[what] !== undefined ? [rules[what]] : []));
  const mend =
    lacking.length > 0
      ? `ACL SETUSER ${access?.user ?? 'USER'} ${lacking.join(' ')} (for the doctor only), or look these up yourself.`
      : "Look these up in the provider's console.";
  return [{ id: 'unreadable', severity: 'unknown', found, why: 'What is not seen is not judged.', mend }];
}
