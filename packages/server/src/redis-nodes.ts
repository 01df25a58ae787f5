import { Redis } from 'ioredis';
import type { RedisAddress } from './redis-address.js';
import { nameOf, type Connect } from './usecases/doctor/node.js';

const patienceMs = 2000;

/** Connections to single servers of an address, for looking at them: nothing is sent twice, and nothing waits long. */
export function nodeConnector({ username, password, tls }: RedisAddress): Connect {
  const login = {
    ...(username === undefined ? undefined : { username }),
    ...(password === undefined ? undefined : { password }),
    ...(tls ? { tls: {} } : undefined),
  };
  return async (address, kind) => {
    const client = new Redis({
      host: address.host,
      port: address.port,
      // The service gives sentinels no password and no TLS either.
      ...(kind === 'sentinel' ? undefined : login),
      lazyConnect: true,
      connectTimeout: patienceMs,
      commandTimeout: patienceMs,
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      // A server that is loading or busy is to be looked at all the same.
      enableReadyCheck: false,
      // The client waits as long for a socket that is closed already, and the process with it.
      disconnectTimeout: 50,
      disableClientInfo: true,
      protocol: 2,
    });
    let failure: unknown;
    client.on('error', (error) => (failure ??= error));
    try {
      await client.connect();
    } catch (error) {
      client.disconnect();
      throw failure ?? error;
    }
    return {
      name: nameOf(address),
      ask: (command, ...args) => client.call(command, ...args),
      close: () => client.disconnect(),
    };
  };
}
