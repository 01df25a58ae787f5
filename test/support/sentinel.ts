import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { discard, end, freePort, host, launch, rawCommand, startRedis, temporaryFolder, type RedisServer } from './redis.js';

export interface SentinelSetup {
  readonly name: string;
  readonly sentinel: { readonly host: string; readonly port: number };
  readonly master: RedisServer;
  readonly replica: RedisServer;
  /** The port of the master that the sentinel names now. */
  masterPort(): Promise<number>;
  stop(): Promise<void>;
}

/** One master, one replica and one sentinel with a quorum of 1; a dead master is replaced after about 1 s. */
export async function startSentinel(options: { name?: string } = {}): Promise<SentinelSetup> {
  const name = options.name ?? 'mymaster';
  const master = await startRedis({ args: ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'] });
  const replica = await startRedis({ args: ['--replicaof', `${host} ${master.port}`, '--repl-ping-replica-period', '1'] });
  const port = await freePort();
  const folder = temporaryFolder();
  const file = join(folder, 'sentinel.conf'); // a sentinel writes into its own file
  writeFileSync(
    file,
    [
      `port ${port}`,
      `bind ${host}`,
      `dir ${folder}`,
      `sentinel monitor ${name} ${host} ${master.port} 1`,
      `sentinel down-after-milliseconds ${name} 500`,
      `sentinel failover-timeout ${name} 3000`,
      '',
    ].join('\n'),
  );
  const child = await launch(port, [file, '--sentinel']);
  const deadline = Date.now() + 15_000;
  for (;;) {
    const link = String(await replica.command('INFO', 'replication'));
    const known = String(await rawCommand(port, ['INFO', 'sentinel']));
    if (link.includes('master_link_status:up') && known.includes('slaves=1')) break;
    if (Date.now() > deadline) throw new Error(`the test sentinel did not see its replica in 15 s:\n${known}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    name,
    sentinel: { host, port },
    master,
    replica,
    masterPort: async () => {
      const address = (await rawCommand(port, ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name])) as string[];
      return Number(address[1]);
    },
    stop: async () => {
      await end(child, 'SIGKILL');
      await replica.stop();
      await master.stop();
      discard(folder);
    },
  };
}
