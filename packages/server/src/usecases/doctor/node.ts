/** Where a server is. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** One server that can be asked. */
export interface Node {
  /** `host:port`. */
  readonly name: string;
  /** Rejects with the server's or the connection's error, or if there is no answer within two seconds. */
  ask(command: string, ...args: readonly string[]): Promise<unknown>;
  close(): void;
}

/** Connects to a data server, or to a sentinel; rejects within two seconds. */
export type Connect = (address: Address, kind?: 'sentinel') => Promise<Node>;

/** What is to be examined. */
export interface Target {
  readonly kind: 'single' | 'cluster' | 'sentinel';
  readonly nodes: readonly Address[];
  readonly name: string | undefined;
  readonly database: number;
  /** Who logs in; undefined if the URL does not say for sure. */
  readonly user: string | undefined;
}

export const nameOf = ({ host, port }: Address): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

const wordings: readonly (readonly [RegExp, string])[] = [
  [/unknown (sub)?command|command '[^']*' not found/i, 'UNKNOWN'],
  [/cluster support disabled/i, 'NOCLUSTER'],
  [/DB index/i, 'NODB'],
  [/max number of clients/i, 'MAXCLIENTS'],
  [/timed out/i, 'TIMEOUT'],
  [/connection is closed|not connected|stream isn't writeable/i, 'CLOSED'],
  [/no such master/i, 'NOMASTER'],
];

/**
 * A short name for what went wrong: the server's own (`NOPERM`, `OOM`, `ERR`), the system's (`ECONNREFUSED`), or one of the above.
 * Only names are shown: a message may repeat what was sent.
 */
export function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return 'ERR';
  const { message, code, cause } = error as NodeJS.ErrnoException;
  const known = wordings.find(([wording]) => wording.test(message))?.[1];
  const own = /^(?:ReplyError: )?([A-Z][A-Z0-9]+)\b/.exec(message)?.[1];
  if (own !== undefined && own !== 'ERR') return own;
  if (cause !== undefined && own === undefined) return faultOf(cause);
  return known ?? own ?? (typeof code === 'string' ? code : 'ERR');
}

const sayings: Readonly<Record<string, string>> = {
  NOPERM: 'not allowed for this user',
  UNKNOWN: 'renamed or disabled on this server',
  TIMEOUT: 'no answer in time',
  CLOSED: 'the connection was lost',
  LOADING: 'the server still loads its data',
  BUSY: 'a script holds the server up',
};

/** A fault in words. */
export const said = (fault: string): string => sayings[fault] ?? fault;
