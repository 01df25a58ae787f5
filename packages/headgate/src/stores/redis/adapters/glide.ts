import { can, type RedisAdapter } from './adapter.js';

/** What is used of a valkey-glide client. */
interface GlideClient {
  readonly isClosed?: boolean;
  customCommand(args: readonly string[], options: { decoder: number }): Promise<unknown>;
}

/** Whether a client is valkey-glide's. */
export function isGlide(client: object): client is GlideClient {
  return can(client, 'customCommand', 'updateConnectionPassword', 'close');
}

/** Glide's `Decoder.String`, whatever default decoder the user chose. */
const asString = { decoder: 1 };

/** Glide rewrites the codes it knows, "NOSCRIPT No matching" as "... by the server: - NoScriptError: No matching". */
const codes: Readonly<Record<string, string>> = {
  NoScriptError: 'NOSCRIPT',
  BusyLoadingError: 'LOADING',
  ReadOnly: 'READONLY',
  MasterDown: 'MASTERDOWN',
  ClusterDown: 'CLUSTERDOWN',
  TryAgain: 'TRYAGAIN',
  CrossSlot: 'CROSSSLOT',
  PermissionDenied: 'NOPERM',
  ExecAbortError: 'EXECABORT',
  ResponseError: 'ERR',
};

/** The error with the text that Redis sent. */
function asSent(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const known = /^An error was signalled by the server: - (\w+): (.*)$/s.exec(error.message);
  const other = known ?? /^([A-Z]+): (.*)$/s.exec(error.message);
  if (!other) return error;
  const [, code = '', text = ''] = other;
  return new Error(`${codes[code] ?? code} ${text}`, { cause: error });
}

/**
 * For valkey-glide's `GlideClient` and `GlideClusterClient`. Used as given: glide sends nothing twice, and reconnects and
 * finds a command's node by itself. It cannot be duplicated, so close() leaves it open, and its own request timeout applies.
 */
export function glideAdapter(client: GlideClient): RedisAdapter {
  let closed = false;
  return {
    // Sharded pub/sub is what only the cluster client can do.
    topology: can(client, 'ssubscribe') ? 'cluster' : 'single',
    // A glide client exists only once it has connected, and does not tell when it is reconnecting.
    state: () => (closed || client.isClosed === true ? 'down' : 'ready'),
    onceSettled: (callback) => queueMicrotask(callback),
    send: async (command, args) => {
      try {
        return await client.customCommand([command, ...args], asString);
      } catch (error) {
        throw asSent(error);
      }
    },
    close: async () => {
      closed = true;
    },
  };
}
