import { can, retryDelay } from './adapter.js';

/** What is used of node-redis, described by shape; every member is public API of redis 5 and 6 unless it says otherwise. */
export interface Emitter {
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  off(event: string, listener: (...args: unknown[]) => void): unknown;
}
export type Options = Readonly<Record<string, unknown>>;
interface Connectable extends Emitter {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
}

export interface NodeRedisClient extends Connectable {
  readonly isReady: boolean;
  readonly options?: Options;
  duplicate(overrides: Options): NodeRedisClient;
  sendCommand(args: readonly string[]): Promise<unknown>;
  destroy(): void;
}
export interface NodeRedisPool extends Connectable {
  readonly totalClients: number;
  execute<T>(task: (client: NodeRedisClient) => T): Promise<T>;
}
export interface NodeRedisCluster extends Connectable {
  readonly masters: readonly { readonly client?: { readonly isReady: boolean } }[];
  /** Internal, but there is no other way to the user's socket settings. */
  readonly _options?: Options;
  duplicate(overrides: Options): NodeRedisCluster;
  sendCommand(key: string, readOnly: boolean, args: readonly string[]): Promise<unknown>;
  destroy(): void;
}
export interface NodeRedisSentinel extends Connectable {
  readonly isReady: boolean;
  /** Undefined while no connection to the master is ready. */
  getMasterNode(): unknown;
  sendCommand(readOnly: boolean, args: readonly string[], options: Options): Promise<unknown>;
  /** From redis 6 on. */
  duplicate?(overrides: Options): NodeRedisSentinel;
  /** Internal: the only way of redis 5 to run something on the master's connection without a repetition. */
  _execute?<T>(readOnly: boolean, task: (client: NodeRedisClient & PlainSender) => Promise<T>): Promise<T>;
  destroy(): unknown;
}
export interface PlainSender {
  sendCommand(args: readonly string[], options?: Options): Promise<unknown>;
}

const isNodeRedis = (client: object): client is Connectable =>
  can(client, 'connect', 'on', 'off', 'sendCommand') && typeof (client as Connectable).isOpen === 'boolean';

export const isNodeRedisSentinel = (client: object): client is NodeRedisSentinel =>
  isNodeRedis(client) && can(client, 'getSentinelNode', 'getMasterNode');
export const isNodeRedisCluster = (client: object): client is NodeRedisCluster =>
  isNodeRedis(client) && can(client, 'duplicate', 'getSlotRandomNode') && Array.isArray((client as NodeRedisCluster).masters);
export const isNodeRedisPool = (client: object): client is NodeRedisPool =>
  isNodeRedis(client) && can(client, 'execute') && typeof (client as NodeRedisPool).totalClients === 'number';
export const isNodeRedisClient = (client: object): client is NodeRedisClient =>
  isNodeRedis(client) && can(client, 'duplicate') && typeof (client as NodeRedisClient).isReady === 'boolean';

/** No type mapping, and none of redis 6's timeouts: they only cover what was not sent, at the price of a timer for each call. */
export const plainReplies: Options = { timeout: undefined, typeMapping: undefined, abortSignal: undefined, asap: undefined };

const safeReplies: Options = {
  RESP: 2,
  commandOptions: plainReplies,
  // These two need RESP 3, and neither serves a caller that only sends scripts.
  clientSideCache: undefined,
  maintNotifications: 'disabled',
  // Applies to no raw command in redis 6.3; cleared in case it ever does.
  keyPrefix: undefined,
};

function safeSocket(socket: unknown): Options {
  return {
    ...(typeof socket === 'object' ? socket : {}),
    connectTimeout: 2000,
    // Never gives up: a Redis that comes back later is used.
    reconnectStrategy: retryDelay,
  };
}

/** What every connection needs: what the user set stays (address, TLS, credentials), what is unsafe for counting goes. */
export function safeClientOptions(users: Options | undefined): Options {
  return {
    ...safeReplies,
    socket: safeSocket(users?.['socket']),
    // A call is sent now or not at all.
    disableOfflineQueue: true,
    commandsQueueMaxLength: undefined,
    readonly: false,
  };
}

/** The user's cluster options, made safe for counting. */
export function safeClusterOptions(users: Options | undefined): Options {
  const defaults = (users?.['defaults'] ?? {}) as Options;
  return {
    ...safeReplies,
    // A root node's own settings win over the defaults, and redis 5 writes some into it.
    rootNodes: ((users?.['rootNodes'] ?? []) as readonly Options[]).map((node) => ({ ...node, ...safeReplies })),
    // Every node is connected before the first decision needs it.
    minimizeConnections: false,
    useReplicas: false,
    maxCommandRedirections: 5,
    topologyRefreshOnReconnectionAttemptStrategy: 50,
    defaults: { ...defaults, ...safeClientOptions(defaults) },
  };
}

/** The options for the nodes behind a sentinel are the user's own: they cannot be read, so they cannot be merged. */
export function safeSentinelOptions(): Options {
  return {
    ...safeReplies,
    // More than 0 would send a call whose connection was lost again.
    maxCommandRediscovers: 0,
    replicaPoolSize: 0,
    reserveClient: false,
    passthroughClientErrorEvents: false,
  };
}
