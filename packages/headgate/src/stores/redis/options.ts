import { ConfigError, rejectUnknownOptions, show } from '../../errors.js';
import { encodeKey, keyedEncoder } from '../../key.js';
import type { RedisStoreOptions } from './redis-store.js';

/** A server among those given, not yet looked at. */
export interface Server {
  readonly name: string;
  readonly client: unknown;
  readonly weight: number;
  /** The option, for error messages. */
  readonly where: string;
}

const bad = (message: string): ConfigError => new ConfigError('HEADGATE_BAD_OPTION', `redisStore.${message}`);

/** More would make each process hold too many connections. */
const mostServers = 256;

function readServers({ client, clients, weights = {} }: RedisStoreOptions): Server[] {
  if (clients === undefined) {
    if (Object.keys(weights).length > 0) throw bad('weights: they need clients: { a, b, c }');
    return [{ name: '', client, weight: 1, where: 'redisStore.client' }];
  }
  if (client !== undefined) throw bad('clients: give either client or clients: { a, b, c }, not both');
  if (typeof clients !== 'object' || clients === null || Array.isArray(clients)) {
    throw bad(`clients: expected clients by name, { a, b, c }; got ${show(clients)}`);
  }
  const names = Object.keys(clients);
  if (names.length < 1 || names.length > mostServers)
    throw bad(`clients: expected 1 to ${mostServers} clients by name; got ${names.length}`);
  if (typeof weights !== 'object' || weights === null) throw bad(`weights: expected numbers by name; got ${show(weights)}`);
  const unknown = Object.keys(weights).find((name) => !names.includes(name));
  if (unknown !== undefined) throw bad(`weights: ${show(unknown)} is none of the clients (${names.map(show).join(', ')})`);
  const servers = names.map((name) => {
    if (!/^[\w.-]{1,64}$/.test(name)) throw bad(`clients: a name is 1 to 64 letters, digits, ".", "-" or "_"; got ${show(name)}`);
    const weight = Object.hasOwn(weights, name) ? weights[name] : 1;
    if (typeof weight !== 'number' || !(weight >= 0 && weight <= 1000)) {
      throw bad(`weights.${name}: expected a number from 0 to 1000; got ${show(weight)}`);
    }
    return { name, client: clients[name], weight, where: `redisStore.clients.${name}` };
  });
  if (servers.every(({ weight }) => weight === 0)) throw bad('weights: at least one client must have a weight above 0');
  // One that is taken out is not connected to, and is to the others as if it were not named.
  return servers.filter(({ weight }) => weight > 0);
}

/** The options of `redisStore`, read and checked. */
export function readOptions(options: RedisStoreOptions): { prefix: string; encode: (key: string) => string; servers: Server[] } {
  rejectUnknownOptions('redisStore', options, ['client', 'clients', 'weights', 'prefix', 'keySecret', 'onCall']);
  const { prefix = 'hg', keySecret, onCall } = options;
  if (typeof prefix !== 'string' || prefix === '' || prefix.length > 64 || !prefix.isWellFormed()) {
    throw bad(`prefix: expected text of 1 to 64 characters; got ${show(prefix)}`);
  }
  if (keySecret !== undefined && (typeof keySecret !== 'string' || keySecret.length < 16)) {
    throw bad('keySecret: expected text of at least 16 characters (the value is not shown)');
  }
  if (onCall !== undefined && typeof onCall !== 'function') throw bad(`onCall: expected a function of one call; got ${show(onCall)}`);
  return { prefix, encode: keySecret === undefined ? encodeKey : keyedEncoder(keySecret), servers: readServers(options) };
}
