import { NotSentError, noop, retryDelay, settling, type RedisAdapter } from './adapter.js';
import {
  plainReplies,
  safeClientOptions,
  safeClusterOptions,
  safeSentinelOptions,
  type NodeRedisClient,
  type NodeRedisCluster,
  type NodeRedisPool,
  type NodeRedisSentinel,
} from './node-redis-client.js';

/** What differs between the kinds of node-redis clients. */
interface Kind {
  readonly topology: 'single' | 'cluster';
  /** Connects, or finds the connection; rejects if that failed, and is called again then. */
  open(): Promise<unknown>;
  ready(): boolean;
  send(args: readonly string[], key: string): Promise<unknown>;
  /** Called now and then while not ready, for clients that only look for a new master when somebody asks. */
  nudge?(): Promise<unknown>;
  close(): unknown;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Connects until it works, keeps the state, and lets no rejection escape. */
function adapter(kind: Kind, hear: (failure: () => void) => void): RedisAdapter {
  const settlement = settling();
  let closed = false;
  let opened = false;
  hear(settlement.settle);
  const shut = async (): Promise<void> => {
    try {
      await kind.close();
    } catch {
      // it was not open, or is already closed
    }
  };
  const keepOpen = async (): Promise<void> => {
    for (let attempt = 0; !closed && !opened; attempt++) {
      try {
        await kind.open();
        opened = true;
      } catch {
        settlement.settle();
        await pause(retryDelay(attempt));
      }
    }
    settlement.settle();
    if (closed) await shut();
    while (kind.nudge && !closed) {
      await pause(retryDelay(2));
      if (!closed && !kind.ready()) await kind.nudge().catch(noop);
    }
  };
  void keepOpen();
  return {
    topology: kind.topology,
    state: () => {
      if (!closed && kind.ready()) return 'ready';
      return settlement.settled() ? 'down' : 'connecting';
    },
    onceSettled: settlement.onceSettled,
    send: (command, args, key) =>
      kind.ready() ? kind.send([command, ...args], key) : Promise.reject(new NotSentError('not connected to Redis')),
    close: async () => {
      closed = true;
      settlement.settle();
      await shut();
    },
  };
}

/** For node-redis `createClient()`. Works on a duplicate with safe options. */
export function nodeRedisClientAdapter(users: NodeRedisClient): RedisAdapter {
  const client = users.duplicate(safeClientOptions(users.options));
  return adapter(
    {
      topology: 'single',
      // Resolves with the first connection, however late: the reconnect strategy never gives up.
      open: () => (client.isOpen ? Promise.resolve() : client.connect()),
      ready: () => client.isReady,
      send: (args) => client.sendCommand(args),
      close: () => client.destroy(),
    },
    (failure) => {
      client.on('error', failure);
      client.on('ready', failure);
    },
  );
}

/**
 * For node-redis `createClientPool()`. A pool cannot be duplicated and keeps its options to itself, so one of its
 * connections is duplicated; the user's pool must be open for that.
 */
export function nodeRedisPoolAdapter(users: NodeRedisPool): RedisAdapter {
  let client: NodeRedisClient | undefined;
  let closed = false;
  return adapter(
    {
      topology: 'single',
      open: async () => {
        const copy = await users.execute((member) => member.duplicate(safeClientOptions(member.options)));
        if (closed) return;
        copy.on('error', noop);
        client = copy;
        await copy.connect();
      },
      ready: () => client?.isReady === true,
      send: (args) => (client as NodeRedisClient).sendCommand(args),
      close: () => {
        closed = true;
        client?.destroy();
      },
    },
    // A pool whose Redis is away says nothing for its whole acquire timeout.
    (failure) => setTimeout(failure, 1000).unref(),
  );
}

/**
 * For node-redis `createCluster()`. Works on a duplicate with safe options.
 *
 * With redis 5 (5.9.0), a cluster whose master was killed does not find the promoted replica while the killed master's
 * address stays dead: keys of that master are decided without the store until the address answers again. redis 6 looks
 * for the new topology at once. Take redis 6, or ioredis, for a cluster that fails over.
 */
export function nodeRedisClusterAdapter(users: NodeRedisCluster): RedisAdapter {
  const client = users.duplicate(safeClusterOptions(users._options));
  // While it connects for the first time, ready means every master, unless one of them fails: its slots must not stop the rest.
  let begun = false;
  const isReady = (node: NodeRedisCluster['masters'][number]): boolean => node.client?.isReady === true;
  return adapter(
    {
      topology: 'cluster',
      open: async () => {
        await client.connect();
        // A cluster that is still being formed names no masters, and the client would not ask again.
        if (client.masters.length === 0) {
          client.destroy();
          throw new Error('the cluster serves no slots yet');
        }
        begun = true;
      },
      ready: () => client.isOpen && client.masters.some(isReady) && (begun || client.masters.every(isReady)),
      send: (args, key) => client.sendCommand(key, false, args),
      close: () => client.destroy(),
    },
    (failure) => {
      client.on('error', failure);
      for (const event of ['node-error', 'node-reconnecting', 'node-disconnect']) {
        client.on(event, () => {
          begun = true;
          failure();
        });
      }
    },
  );
}

/**
 * For node-redis `createSentinel()`: on a duplicate from redis 6 on. A redis 5 sentinel cannot be duplicated and is used as
 * given, in the one way that sends nothing twice; it must be open, and close() leaves it open.
 */
export function nodeRedisSentinelAdapter(users: NodeRedisSentinel): RedisAdapter {
  const own = typeof users.duplicate === 'function';
  const client = users.duplicate ? users.duplicate(safeSentinelOptions()) : users;
  let heard = noop;
  const ready = (): boolean => client.isReady && client.getMasterNode() !== undefined;
  // The callback's own failures are handed out as values: what sendCommand() rejects with, a sentinel client sends again.
  const once = async (args: readonly string[]): Promise<unknown> => {
    const run = (client._execute as NonNullable<NodeRedisSentinel['_execute']>).bind(client);
    const result = await run(false, async (master) => {
      try {
        return { reply: await master.sendCommand(args, plainReplies) };
      } catch (error) {
        return { error };
      }
    });
    if ('error' in result) throw result.error;
    return result.reply;
  };
  const send = own ? (args: readonly string[]): Promise<unknown> => client.sendCommand(false, args, plainReplies) : once;
  return adapter(
    {
      topology: 'single',
      open: async () => {
        if (own) await client.connect();
        else if (!client.isReady) throw new Error('the sentinel client is not ready');
      },
      ready,
      send,
      ...(own && { nudge: () => send(['PING']) }),
      close: () => {
        if (own) return client.destroy();
        client.off('error', heard);
        return undefined;
      },
    },
    (failure) => {
      heard = failure;
      client.on('error', heard);
    },
  );
}
