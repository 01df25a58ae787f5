import type { ChildProcess } from 'node:child_process';
import { discard, end, freePort, host, launch, rawCommand, temporaryFolder } from './redis.js';

export interface ClusterNode {
  readonly host: string;
  readonly port: number;
  readonly id: string;
  command(...args: (string | number)[]): Promise<unknown>;
  kill(): Promise<void>;
  restart(): Promise<void>;
}
export interface RedisCluster {
  /** The masters, in the order of their slots; then the replicas, in the same order. */
  readonly nodes: readonly ClusterNode[];
  readonly urls: readonly string[];
  stop(): Promise<void>;
}

const slots = 16_384;
/** The bus listens on the port plus this. */
const bus = 10_000;

async function startNode(): Promise<ClusterNode & { stop(): Promise<void> }> {
  const port = await freePort(bus);
  const folder = temporaryFolder();
  const args = ['--bind', host, '--port', `${port}`, '--save', '', '--appendonly', 'no', '--dir', folder];
  // A node that nobody introduced would name itself by an empty host.
  args.push('--cluster-announce-ip', host);
  args.push('--cluster-enabled', 'yes', '--cluster-node-timeout', '500', '--repl-ping-replica-period', '1');
  // A node that is down leaves the other slots served, as one shard of many should.
  args.push('--cluster-require-full-coverage', 'no', '--repl-diskless-sync-delay', '0');
  let child: ChildProcess = await launch(port, args);
  const command = (...parts: (string | number)[]): Promise<unknown> => rawCommand(port, parts);
  return {
    host,
    port,
    id: String(await command('CLUSTER', 'MYID')),
    command,
    kill: () => end(child, 'SIGKILL'),
    stop: async () => {
      await end(child, 'SIGKILL');
      discard(folder);
    },
    restart: async () => {
      await end(child, 'SIGKILL');
      child = await launch(port, args);
    },
  };
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 15_000;
  while (!(await holds().catch(() => false))) {
    if (Date.now() > deadline) throw new Error(`the test cluster was not ready in 15 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A Redis Cluster of its own: `masters` masters with equal shares of the slots, `replicas` replicas for each (default 0). */
export async function startCluster(options: { masters?: number; replicas?: number } = {}): Promise<RedisCluster> {
  const { masters = 3, replicas = 0 } = options;
  const nodes: Awaited<ReturnType<typeof startNode>>[] = [];
  // One after the other: two that look for a free port at the same time may find the same one.
  for (let i = 0; i < masters * (1 + replicas); i++) nodes.push(await startNode());
  const [first, ...others] = nodes;
  if (!first) throw new Error('a cluster needs a master');

  for (const [i, node] of nodes.entries()) {
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
    if (i >= masters) continue;
    const share: number[] = [];
    for (let slot = Math.ceil((i * slots) / masters); slot < Math.ceil(((i + 1) * slots) / masters); slot++) share.push(slot);
    await node.command('CLUSTER', 'ADDSLOTS', ...share); // ADDSLOTSRANGE is Redis 7
  }
  for (const node of others) await first.command('CLUSTER', 'MEET', host, node.port);
  const knowsAll = async (node: ClusterNode): Promise<boolean> => {
    const info = String(await node.command('CLUSTER', 'INFO'));
    return (
      info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes.length}`) && info.includes('cluster_slots_ok:16384')
    );
  };
  for (const node of nodes) await until('all nodes know each other', () => knowsAll(node));
  for (const [i, node] of nodes.entries()) {
    const master = nodes[i % masters];
    if (i < masters || !master) continue;
    await node.command('CLUSTER', 'REPLICATE', master.id);
    await until('replicas follow', async () => String(await node.command('INFO', 'replication')).includes('master_link_status:up'));
  }
  return {
    nodes,
    urls: nodes.map((node) => `redis://${host}:${node.port}`),
    stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))),
  };
}
