import type { Unread } from './facts.js';
import type { Finding } from './finding.js';
import type { Target } from './node.js';

/** What went wrong on the way, and what helps: found, mend. */
const faults: Readonly<Record<string, readonly [string, string]>> = {
  ECONNREFUSED: ['nothing listens there', 'Start Redis, or correct host and port; in a container, publish the port and check `bind`.'],
  ENOTFOUND: ['there is no host of that name', "Correct the host's name, or the DNS that this machine asks."],
  EAI_AGAIN: ['the DNS does not answer', 'Check the DNS that this machine asks.'],
  ETIMEDOUT: [
    'no answer to the connection within 2 s',
    'Correct the host, or open firewall and security group for this machine; if it speaks no TLS, write redis:// instead of rediss://.',
  ],
  EHOSTUNREACH: ['there is no way to that host', 'Check routes, firewall and VPN.'],
  ENETUNREACH: ['there is no way to that network', 'Check routes, firewall and VPN.'],
  TIMEOUT: [
    'it takes the connection, but answers nothing within 2 s',
    'It is stopped, swapping or blocked, or speaks TLS (then rediss://); look at its log and load.',
  ],
  NOAUTH: ['it asks for a password', 'Write redis://:PASSWORD@HOST or redis://USER:PASSWORD@HOST (%40 for @, %2F for /).'],
  WRONGPASS: ['user or password is wrong, or the user is off', 'Correct them in the URL (%40 for @, %2F for /); ACL LIST shows the users.'],
  DENIED: [
    'its protected mode refuses other machines',
    'Give it a password (requirepass or an ACL), then protected-mode no; or bind it to an address of its own.',
  ],
  MAXCLIENTS: ['it has as many clients as it takes', 'Raise maxclients (and the limit of open files), or close connections.'],
  CLOSED: ['it closed the connection', 'It may speak TLS: then write rediss://; else look at its log.'],
  ECONNRESET: ['it closed the connection', 'It may speak TLS: then write rediss://; else look at its log.'],
  NOCLUSTER: ['it is no Cluster', 'Write redis:// instead of redis+cluster://.'],
  NOMASTER: ['the sentinels know no master of that name', 'SENTINEL MASTERS lists the names: redis+sentinel://HOST/NAME.'],
  UNKNOWN: [
    'it does not know a command that it should',
    'Is it what the URL says (redis://, redis+sentinel://, redis+cluster://)? Commands may be renamed.',
  ],
  NOPERM: ['the user may not ask how it is composed', 'ACL SETUSER USER +cluster|info +cluster|nodes +cluster|slots'],
  BUSY: ['a script holds it up', 'redis-cli SCRIPT KILL; if the script has written, only SHUTDOWN NOSAVE ends it.'],
  LOADING: ['it still loads its data', 'Wait until it has loaded.'],
};

const tls = /CERT|SSL|TLS|EPROTO|ISSUER|ALTNAME/;

/** What is said of an address that does not answer. */
function saidOf({ what, fault }: Unread): { readonly found: string; readonly mend: string } {
  const [found, mend] =
    faults[fault] ??
    (tls.test(fault)
      ? [`TLS fails (${fault})`, 'Without TLS write redis:// instead of rediss://; for a CA of your own set NODE_EXTRA_CA_CERTS.']
      : [`it fails with ${fault}`, "Look at the server's log."]);
  return { found: `${what}: ${found}`, mend };
}

/** No server at all: one finding. */
export function unreachable(attempts: readonly Unread[]): Finding {
  const all = attempts.map(saidOf);
  const why = 'Every decision is degraded: each rule does what its whenUnavailable says.';
  return {
    id: 'connection',
    severity: 'error',
    found: `cannot connect: ${all.map(({ found }) => found).join('; ')}`,
    why,
    mend: [...new Set(all.map(({ mend }) => mend))].join(' '),
  };
}

/** Some addresses of the URL do not answer, others do. */
export function silentAddresses(silent: readonly Unread[], { kind }: Target): Finding[] {
  const why = `The others led the way; if they go too, a server that starts does not find the ${kind === 'cluster' ? 'Cluster' : 'master'}.`;
  return silent.map((one) => {
    const { found, mend } = saidOf(one);
    return { id: 'address', severity: 'warning', node: one.what, found: found.slice(one.what.length + 2), why, mend };
  });
}
