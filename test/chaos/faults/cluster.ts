import { startCluster, type ClusterNode, type RedisCluster } from '../../support/cluster.js';
import { lagMs, pause, servesAgain, whileMs, type Deployment, type Fault } from './fault.js';

const masters = 3;
const slots = 16_384;

const slotOf = async (node: ClusterNode, key: string): Promise<number> => Number(await node.command('CLUSTER', 'KEYSLOT', `{${key}}`));
/** Which master a slot belongs to at first. */
const homeOf = (slot: number): number => Math.floor((slot * masters) / slots);

function onCluster(replicas: number, strike: (cluster: RedisCluster) => Deployment['strike']): () => Promise<Deployment> {
  return async () => {
    const cluster = await startCluster({ masters, replicas });
    const ports = cluster.nodes.map(({ port }) => port);
    return { connect: { topology: 'cluster', ports }, strike: strike(cluster), stop: cluster.stop };
  };
}

/** Kills the master of the hottest key. */
const failover: Fault = {
  name: 'failover',
  title: 'one of three cluster masters killed, its replica takes over',
  start: onCluster(1, ({ nodes }) => async (_, keys) => {
    const home = new Map<string, number>();
    for (const key of keys) home.set(key, homeOf(await slotOf(nodes[0] as ClusterNode, key)));
    const [hot = ''] = keys;
    const struck = home.get(hot) as number;
    const affected = new Set(keys.filter((key) => home.get(key) === struck));
    const [master, replica] = [nodes[struck] as ClusterNode, nodes[struck + masters] as ClusterNode];
    const killed = Date.now();
    await master.kill();
    const undone = Date.now();
    const serves = await servesAgain(() => replica.port, hot);
    return { undone, serves, affected, lag: { from: killed - lagMs, until: undone } };
  }),
};

/** Moves one slot as `redis-cli --cluster reshard` does, key by key, with time for checks to come in between. */
async function moveSlot(nodes: readonly ClusterNode[], slot: number, [from, to]: readonly [ClusterNode, ClusterNode]): Promise<void> {
  await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
  await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
  for (;;) {
    const [key] = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, 1)) as string[];
    if (key === undefined) break;
    await from.command('MIGRATE', to.host, to.port, key, 0, 1000);
    await pause(5);
  }
  for (const node of [to, from, ...nodes.filter((other) => other !== to && other !== from)]) {
    await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
  }
}

/** The hottest key's slot and three more go round the masters. */
const migration: Fault = {
  name: 'migration',
  title: 'cluster slots migrated under load for 2 s',
  start: onCluster(0, ({ nodes }) => async (_, keys) => {
    const moving = await Promise.all(keys.slice(0, 4).map((key) => slotOf(nodes[0] as ClusterNode, key)));
    const at = new Map(moving.map((slot) => [slot, homeOf(slot)]));
    const until = Date.now() + whileMs;
    while (Date.now() < until) {
      for (const [slot, home] of at) {
        const next = (home + 1) % masters;
        await moveSlot(nodes, slot, [nodes[home] as ClusterNode, nodes[next] as ClusterNode]);
        at.set(slot, next);
      }
    }
    return { undone: Date.now() };
  }),
};

export const clusterFaults: readonly Fault[] = [failover, migration];
