import { Redis } from 'ioredis';

/** What Redis holds, by its own account, and what is done to it: over one connection, which is spared. */
export async function openServer({ host, port }) {
  const control = new Redis({ host, port });
  control.on('error', () => undefined);
  const infoOf = async (section) => {
    const text = await control.info(section);
    return Object.fromEntries(text.split('\r\n').map((line) => line.split(':')));
  };
  const { process_id: pid } = await infoOf('server');
  return {
    control,
    pid: Number(pid),
    data: async () => ({ memory: Number((await infoOf('memory')).used_memory), keys: await control.dbsize() }),
    async connections() {
      const { connected_clients: open, blocked_clients: blocked } = await infoOf('clients');
      return { connections: Number(open), blocked: Number(blocked) };
    },
    close: () => control.disconnect(),
  };
}
