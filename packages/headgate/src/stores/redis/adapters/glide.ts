import { can, type RedisAdapter } from './adapter.js';

/** What is used of a valkey-glide client. */
interface GlideClient {
  readonly isClosed?: boolean;
  customCommand(args: readonly string[], options: { decoder: number }): Promise<unknown>;
}

export function isGlide(client: object): client is GlideClient {
  return can(client, 'customCommand', 'updateConnectionPassword', 'close');
}

/** Glide's `Decoder.String`, whatever default decoder the user chose. */
const asString = { decoder: 1 };

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
    send: (command, args) => client.customCommand([command, ...args], asString),
    close: async () => {
      closed = true;
    },
  };
}
