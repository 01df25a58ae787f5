import { Redis } from 'ioredis';

/** A client that counts what Headgate sends over its duplicate; heartbeats apart, which are a process's own and not a check's. */
export function countingClient({ host, port }) {
  const client = new Redis({ host, port, lazyConnect: true });
  const duplicate = client.duplicate.bind(client);
  let calls = 0;
  client.duplicate = (options) => {
    const used = duplicate(options);
    const call = used.call.bind(used);
    used.call = (command, args) => {
      if (!args.some((arg) => arg.includes('{fleet}f:'))) calls += 1;
      return call(command, args);
    };
    return used;
  };
  return { client, calls: () => calls };
}
