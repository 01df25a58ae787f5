import type { Target } from './node.js';

/** A command that Headgate sends, or a script of its calls, with arguments that do no harm. */
export interface Needed {
  readonly command: readonly [string, ...string[]];
  /** What an ACL would say to allow it. */
  readonly rule: string;
}

/** How all keys of the library begin. A test compares it with those that there are. */
export const ownKeys = (prefix: string): string => `${encodeURIComponent(prefix)}:2{`;

/** Lives a second at most, under the prefix that an ACL has to allow. */
export const trialKey = (prefix: string): string => `${ownKeys(prefix)}doctor}trial`;

/** All commands that Headgate needs on this kind of deployment. A test compares them with the library's scripts. */
export function neededCommands({ kind, database }: Pick<Target, 'kind' | 'database'>, prefix: string): Needed[] {
  const key = trialKey(prefix);
  const members = `${key}-members`;
  const commands: [string, ...string[]][] = [
    ['EVALSHA', '0'.repeat(40), '1', key],
    ['EVAL', 'return 1', '1', key],
    ['TIME'],
    ['EXISTS', key],
    ['GET', key],
    ['MGET', key],
    ['SET', key, '1', 'PX', '1000', 'NX'],
    ['PSETEX', key, '1000', '1'],
    ['PTTL', key],
    ['PEXPIRE', key, '1000'],
    ['DEL', key],
    // Who is there. XX: makes no key.
    ['ZADD', members, 'XX', '1', 'doctor'],
    ['ZREM', members, 'doctor'],
    ['ZREMRANGEBYSCORE', members, '-inf', '1'],
    ['ZCARD', members],
    // The client asks it when it connects, to know whether the server is loading.
    ['INFO', 'server'],
  ];
  if (database !== 0) commands.push(['SELECT', String(database)]);
  const needed = commands.map((command) => ({ command, rule: `+${command[0].toLowerCase()}` }));
  if (kind !== 'cluster') return needed;
  return [
    ...needed,
    { command: ['CLUSTER', 'SLOTS'], rule: '+cluster|slots' },
    { command: ['CLUSTER', 'INFO'], rule: '+cluster|info' },
    // While a slot moves.
    { command: ['ASKING'], rule: '+asking' },
  ];
}
