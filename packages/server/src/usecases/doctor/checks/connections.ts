import type { NodeFacts } from '../facts.js';
import { ok, plural, seconds, unread, type Finding } from '../finding.js';
import { numberIn } from '../info.js';

/** Whether idle connections are closed. */
export function idleTimeout({ config, role }: NodeFacts): Finding[] {
  const id = 'idle-timeout';
  if (role === 'replica') return [];
  const timeout = numberIn(config, 'timeout');
  if (timeout === undefined) return [unread(id, 'timeout (CONFIG GET)')];
  if (timeout === 0) return [ok(id, 'timeout 0: idle connections stay')];
  const why = 'A quiet server loses its connection, and what it is asked while it connects anew is decided without Redis.';
  return [{ id, severity: 'warning', found: `idle connections are closed after ${seconds(timeout)}`, why, mend: 'CONFIG SET timeout 0' }];
}

/** Whether connections of peers that are gone are noticed. */
export function keepAlive({ config, role }: NodeFacts): Finding[] {
  const id = 'tcp-keepalive';
  if (role === 'replica') return [];
  const every = numberIn(config, 'tcp-keepalive');
  if (every === undefined) return [unread(id, 'tcp-keepalive (CONFIG GET)')];
  if (every > 0 && every <= 900) return [ok(id, `every ${seconds(every)}`)];
  const why = 'Connections of servers that died stay and use up maxclients; firewalls drop quiet connections without a word.';
  return [{ id, severity: 'warning', found: every === 0 ? 'off' : `every ${seconds(every)}`, why, mend: 'CONFIG SET tcp-keepalive 300' }];
}

/** How many more may connect. */
export function clients({ info, config, role }: NodeFacts): Finding[] {
  const id = 'clients';
  if (role === 'replica') return [];
  const connected = numberIn(info, 'connected_clients');
  const most = numberIn(info, 'maxclients') ?? numberIn(config, 'maxclients');
  if (connected === undefined || most === undefined) return [unread(id, 'maxclients (INFO, CONFIG GET)')];
  const rejected = numberIn(info, 'rejected_connections') ?? 0;
  const found = `${plural(connected, 'client')} of ${most.toLocaleString('en')}${rejected > 0 ? `, ${rejected.toLocaleString('en')} turned away` : ''}`;
  if (connected < most * 0.8) return [{ ...ok(id, found), severity: rejected > 0 ? 'info' : 'ok' }];
  const why = 'A server of yours that is turned away decides everything without Redis.';
  return [
    { id, severity: 'warning', found, why, mend: `CONFIG SET maxclients ${most * 2} (and the limit of open files), or fewer connections.` },
  ];
}
