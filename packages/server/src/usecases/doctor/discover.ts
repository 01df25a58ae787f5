import type { ClusterFacts, ClusterMember, NodeFacts, SentinelFacts, Unread } from './facts.js';
import { pairsOf, parseInfo, replicasIn, type Info } from './info.js';
import { faultOf, nameOf, type Address, type Connect, type Node, type Target } from './node.js';

/** No address of the URL led to a server that answers. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
  constructor(readonly attempts: readonly Unread[]) {
    super('no server can be reached');
  }
}

/** A server that belongs to it, connected or with the fault that kept it from being so. */
export interface Found {
  readonly name: string;
  readonly role: NodeFacts['role'];
  readonly master?: string;
  readonly node?: Node;
  readonly fault?: string;
}

export interface Discovered {
  readonly servers: readonly Found[];
  readonly cluster?: ClusterFacts;
  readonly sentinel?: SentinelFacts;
  readonly silent: readonly Unread[];
}

/** Connected, and in a state to answer: a wrong password or a stopped process shows only at the first command. */
async function reach(connect: Connect, address: Address, kind?: 'sentinel'): Promise<Node> {
  const node = await connect(address, kind);
  try {
    await node.ask('PING');
  } catch (error) {
    // These answer some commands, and what they answer tells more.
    if (!['NOPERM', 'LOADING', 'BUSY', 'MASTERDOWN', 'MISCONF', 'UNKNOWN'].includes(faultOf(error))) {
      node.close();
      throw error;
    }
  }
  return node;
}

async function find(connect: Connect, address: Address, place: Pick<Found, 'role' | 'master'>): Promise<Found> {
  const found = { name: nameOf(address), ...place };
  return reach(connect, address).then(
    (node) => ({ ...found, node }),
    (error: unknown) => ({ ...found, fault: faultOf(error) }),
  );
}

/** Asks every address of the URL; the first answer counts, and those that gave none are told. */
async function fromAny<T>(addresses: readonly Address[], ask: (address: Address) => Promise<T>): Promise<{ answer: T; silent: Unread[] }> {
  const results = await Promise.all(
    addresses.map((address) =>
      ask(address).then(
        (answer) => ({ answer }),
        (error: unknown) => ({ what: nameOf(address), fault: faultOf(error) }),
      ),
    ),
  );
  const silent = results.flatMap((result) => ('fault' in result ? [result] : []));
  const [first] = results.flatMap((result) => ('fault' in result ? [] : [result]));
  if (first === undefined) throw new Unreachable(silent);
  return { answer: first.answer, silent };
}

async function withReplicas(connect: Connect, master: Found): Promise<Found[]> {
  // One that asks its master for a password may still tell whom it serves; one that does not has none that we could ask.
  const info = (await master.node?.ask('INFO', 'replication').then(parseInfo, () => undefined)) ?? new Map<string, string>();
  const role = info.get('role') === 'slave' ? 'replica' : 'master';
  const replicas = await Promise.all(replicasIn(info).map((replica) => find(connect, replica, { role: 'replica', master: master.name })));
  return [{ ...master, role }, ...replicas];
}

/** The lines of CLUSTER NODES: `id ip:port@bus[,hostname] flags master ping pong epoch link slot...` */
export function parseClusterNodes(text: string, asked: Address): ClusterMember[] {
  return text.split('\n').flatMap((line) => {
    const [id = '', place = '', flagList = '', follows = '-', , , , link = '', ...slots] = line.trim().split(' ');
    const at = /^(.*):(\d+)(?:@\d+)?(?:,([^,]*))?/.exec(place);
    if (at === null) return [];
    const flags = flagList.split(',');
    const address = { host: at[3] || at[1] || asked.host, port: Number(at[2]) };
    // A node that nobody introduced does not know its own address.
    const { host, port } = flags.includes('myself') && at[1] === '' && !at[3] ? asked : address;
    const ranges = slots.flatMap((range): [number, number][] => {
      const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
      return first === undefined ? [] : [[Number(first), Number(last)]];
    });
    return [
      {
        id,
        host,
        port,
        name: nameOf({ host, port }),
        flags,
        follows: follows === '-' ? undefined : follows,
        linked: link === 'connected',
        slots: ranges,
      },
    ];
  });
}

async function discoverCluster(connect: Connect, { nodes }: Target): Promise<Discovered> {
  const { answer: cluster, silent } = await fromAny(nodes, async (address) => {
    const node = await reach(connect, address);
    try {
      const [info, members] = await Promise.all([node.ask('CLUSTER', 'INFO'), node.ask('CLUSTER', 'NODES')]);
      return { info: parseInfo(info), members: parseClusterNodes(String(members), address) };
    } finally {
      node.close();
    }
  });
  const known = new Map(cluster.members.map((member) => [member.id, member.name]));
  const servers = cluster.members.filter(({ flags, port }) => port > 0 && !flags.includes('handshake'));
  return {
    cluster,
    silent,
    servers: await Promise.all(
      servers.map((member) => {
        const master = known.get(member.follows ?? '');
        return find(connect, member, {
          role: member.flags.includes('master') ? 'master' : 'replica',
          ...(master !== undefined && { master }),
        });
      }),
    ),
  };
}

async function askSentinel(node: Node, name: string): Promise<{ facts: SentinelFacts; master: Address; replicas: Info[] }> {
  const master = pairsOf(await node.ask('SENTINEL', 'MASTER', name));
  const replicas = ((await node.ask('SENTINEL', 'REPLICAS', name)) as unknown[]).map(pairsOf);
  const quorum = await node.ask('SENTINEL', 'CKQUORUM', name).then(
    () => 'ok' as const,
    (error: unknown) => (faultOf(error) === 'NOQUORUM' ? ('lost' as const) : undefined),
  );
  return { facts: { master, replicas, quorum }, master: addressIn(master), replicas };
}

const addressIn = (fields: Info): Address => ({ host: fields.get('ip') ?? '', port: Number(fields.get('port')) });

async function discoverSentinel(connect: Connect, { nodes, name = '' }: Target): Promise<Discovered> {
  const { answer, silent } = await fromAny(nodes, async (address) => {
    const node = await reach(connect, address, 'sentinel');
    return askSentinel(node, name).finally(() => node.close());
  });
  const master = await find(connect, answer.master, { role: 'master' });
  const replicas = await Promise.all(
    answer.replicas.map((replica) => find(connect, addressIn(replica), { role: 'replica', master: master.name })),
  );
  return { servers: [master, ...replicas], sentinel: answer.facts, silent };
}

/**
 * Finds the servers behind a URL, and connects to them.
 *
 * @throws Unreachable if none of the URL's addresses leads to one
 */
export async function discover(connect: Connect, target: Target): Promise<Discovered> {
  if (target.kind === 'cluster') return discoverCluster(connect, target);
  if (target.kind === 'sentinel') return discoverSentinel(connect, target);
  const { answer } = await fromAny(target.nodes, async (address) => ({
    name: nameOf(address),
    role: 'master' as const,
    node: await reach(connect, address),
  }));
  return { servers: await withReplicas(connect, answer), silent: [] };
}
