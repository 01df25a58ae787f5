import { host, startRedis, type RedisServer } from '../../support/redis.js';
import { startSentinel } from '../../support/sentinel.js';
import { lagMs, pause, servesAgain, whileMs, type Fault } from './fault.js';

async function linkUp(replica: RedisServer): Promise<void> {
  const until = Date.now() + 10_000;
  while (!String(await replica.command('INFO', 'replication')).includes('master_link_status:up')) {
    if (Date.now() > until) throw new Error('the replica did not follow within 10 s');
    await pause(20);
  }
}

const sentinel: Fault = {
  name: 'sentinel',
  title: 'master killed, Sentinel promotes its replica',
  start: async () => {
    const setup = await startSentinel();
    return {
      connect: { topology: 'sentinel', port: setup.sentinel.port, name: setup.name },
      strike: async () => {
        const killed = Date.now();
        await setup.master.kill();
        const undone = Date.now();
        // Where clients ask for it. The dead master's port answers nobody, so it counts once the new one is named.
        return { undone, serves: await servesAgain(setup.masterPort), lag: { from: killed - lagMs, until: undone } };
      },
      stop: setup.stop,
    };
  },
};

const readonly: Fault = {
  name: 'readonly',
  title: 'master made a replica for 2 s (READONLY)',
  start: async () => {
    const fast = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];
    const master = await startRedis({ args: fast });
    const replica = await startRedis({ args: [...fast, '--replicaof', `${host} ${master.port}`] });
    await linkUp(replica);
    return {
      connect: { topology: 'single', port: master.port },
      strike: async () => {
        const from = Date.now() - lagMs;
        await replica.command('REPLICAOF', 'NO', 'ONE');
        await master.command('REPLICAOF', host, replica.port);
        // What the old master counted until it obeyed, it forgets when it takes over the other's counters.
        const lag = { from, until: Date.now() };
        await pause(whileMs);
        await linkUp(master);
        const undone = Date.now();
        await master.command('REPLICAOF', 'NO', 'ONE');
        return { undone, serves: await servesAgain(() => master.port), lag };
      },
      stop: () => Promise.all([replica.kill(), master.kill()]),
    };
  },
};

export const replicaFaults: readonly Fault[] = [sentinel, readonly];
