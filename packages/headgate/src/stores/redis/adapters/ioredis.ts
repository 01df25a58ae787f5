import { NotSentError, can, noop, retryDelay, settling, type RedisAdapter } from './adapter.js';
import { senderOf, type Sender } from './ioredis-command.js';
import { watchSilence, type SilenceWatch } from './silence.js';

type Options = Readonly<Record<string, unknown>>;

/** What is used of an ioredis (or iovalkey) client, `Redis` and `Cluster` alike. */
interface IoredisClient extends Sender {
  readonly status: string;
  readonly isCluster?: boolean;
  connect(): Promise<unknown>;
  disconnect(): void;
  on(event: string, listener: () => void): unknown;
}
interface IoredisSingle extends IoredisClient {
  readonly options: { socketTimeout?: number | undefined };
  readonly stream?: { destroy(error: Error): unknown };
  duplicate(override: Options): IoredisSingle;
}
interface IoredisCluster extends IoredisClient {
  duplicate(startupNodes: readonly unknown[], override: Options): IoredisCluster;
  nodes(role: 'master'): readonly IoredisClient[];
}

/** Whether a client is ioredis's, or a fork's. */
export function isIoredis(client: object): client is IoredisSingle | IoredisCluster {
  return can(client, 'duplicate', 'call', 'disconnect', 'on') && typeof (client as IoredisClient).status === 'string';
}

/** A host that vanished without a word: its connection would stay for a quarter of an hour. Longer than any reply that is just late. */
const silenceMs = 5000;

/** What makes a connection safe for counting: whatever the user set, on the duplicate these hold. */
const connectionOptions: Options = {
  // A call whose reply was lost may have been counted: never sent again, never kept for later.
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  // 2 would send the failed command again; true only reconnects, which finds the new master behind the same name.
  reconnectOnError: (error: Error) => error.message.includes('READONLY'),
  // The store has its own deadline and wants to see late replies.
  commandTimeout: undefined,
  lazyConnect: false,
  connectTimeout: 2000,
  socketTimeout: silenceMs,
  retryStrategy: retryDelay,
  sentinelRetryStrategy: retryDelay,
  // While Redis loads its data, ask again soon.
  maxLoadingRetryTime: 500,
  // Counters are read and written on the master, by a plain connection, under exactly the keys that are given.
  role: 'master',
  readOnly: false,
  monitor: false,
  keyPrefix: '',
  // One shape of replies: integers as numbers, nil as null.
  protocol: 2,
  replyMapping: 'legacy',
  stringNumbers: false,
  // Batches are made by the store; a command is written at once.
  enableAutoPipelining: false,
  showFriendlyErrorStack: false,
};

const clusterOptions: Options = {
  // Would send a call whose connection was lost again, to a random node.
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  retryDelayOnMoved: 0,
  retryDelayOnTryAgain: 20,
  maxRedirections: 5,
  clusterRetryStrategy: retryDelay,
  clusterNodeRetryStrategy: null,
  // Refused here instead, by state(): ioredis would also refuse what comes while a new node is still connecting (130 of the
  // first 200 calls). What waits in this queue was never sent.
  enableOfflineQueue: true,
  enableAutoPipelining: false,
  scaleReads: 'master',
  lazyConnect: false,
  keyPrefix: '',
  redisOptions: connectionOptions,
};

/** Watches a single connection from when it is ready on: ioredis's own `socketTimeout` sets and clears a timer for each call. */
function watched(client: IoredisSingle): SilenceWatch {
  client.on('ready', () => (client.options.socketTimeout = undefined));
  client.on('close', () => (client.options.socketTimeout = silenceMs));
  return watchSilence(silenceMs, () => client.stream?.destroy(new Error(`Redis did not answer for ${silenceMs} ms`)));
}

/** For ioredis 5 and 6 (single, Sentinel, Cluster). Works on a duplicate with safe options. */
export function ioredisAdapter(users: IoredisSingle | IoredisCluster): RedisAdapter {
  const cluster = users.isCluster === true;
  const client = cluster ? (users as IoredisCluster).duplicate([], clusterOptions) : (users as IoredisSingle).duplicate(connectionOptions);
  const send = senderOf(client);
  const watch = cluster ? undefined : watched(client as IoredisSingle);
  const settlement = settling();
  let closed = false;
  let revival: NodeJS.Timeout | undefined;

  // A cluster connects to a node at that node's first command; done now, no decision waits for it.
  const warm = (): void => {
    const waiting = (client as IoredisCluster).nodes('master').filter((node) => node.status === 'wait');
    void Promise.allSettled(waiting.map((node) => node.connect())).then(settlement.settle);
    // One node that accepts and then says nothing must not hold up the others.
    setTimeout(settlement.settle, 500).unref();
  };
  client.on('ready', cluster ? warm : settlement.settle);
  for (const failure of ['error', 'close', 'end']) client.on(failure, settlement.settle);
  // ioredis gives up for good in a few states (a connector that throws); Headgate does not.
  client.on('end', () => {
    if (closed || revival) return;
    revival = setTimeout(() => {
      revival = undefined;
      if (!closed) client.connect().catch(noop);
    }, retryDelay(4));
  });

  const state = (): 'connecting' | 'ready' | 'down' => {
    if (!settlement.settled()) return 'connecting';
    return client.status === 'ready' && !closed ? 'ready' : 'down';
  };
  return {
    topology: cluster ? 'cluster' : 'single',
    state,
    onceSettled: settlement.onceSettled,
    send(command, args) {
      if (client.status !== 'ready') return Promise.reject(new NotSentError(`not connected to Redis (${client.status})`));
      const reply = send(command, args);
      return watch === undefined ? reply : watch.wait(reply);
    },
    close: async () => {
      closed = true;
      clearTimeout(revival);
      watch?.stop();
      client.disconnect();
      settlement.settle();
    },
  };
}
