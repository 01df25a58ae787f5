import { readAccess } from './access.js';
import type { NodeFacts, SlowCommand, Unread } from './facts.js';
import { pairsOf, parseInfo, type Info } from './info.js';
import { neededCommands, ownKeys } from './needed.js';
import { faultOf, type Node, type Target } from './node.js';
import { sampleKeys } from './sample.js';

const settings = [
  'appendfsync',
  'save',
  'stop-writes-on-bgsave-error',
  'min-replicas-to-write',
  'min-replicas-max-lag',
  'timeout',
  'tcp-keepalive',
  'maxclients',
  'cluster-require-full-coverage',
];

/** Who is asked, and as what. */
export interface Asked {
  readonly node: Node;
  readonly role: NodeFacts['role'];
  readonly master: string | undefined;
}

/** The settings that can be read, one by one: Redis 6.2 answers only one pattern a call, and `*` would bring the password. */
async function readSettings(node: Node): Promise<Info> {
  const answers = await Promise.all(settings.map((name) => node.ask('CONFIG', 'GET', name)));
  return new Map(answers.flatMap((answer) => [...pairsOf(answer)]));
}

async function readSlowLog(node: Node): Promise<SlowCommand[]> {
  const [entries, [now]] = (await Promise.all([node.ask('SLOWLOG', 'GET', '128'), node.ask('TIME')])) as [unknown[][], unknown[]];
  return entries.map(([, at, us, args]) => ({
    name: (args as readonly string[]).at(0)?.toUpperCase() ?? '',
    ms: Number(us) / 1000,
    ageSeconds: Number(now) - Number(at),
  }));
}

/** Everything about one server but for times, which are measured when nothing else goes on. */
export async function gatherNode({ node, role, master }: Asked, target: Target, prefix: string): Promise<NodeFacts> {
  const unread: Unread[] = [];
  async function read<T>(what: string, reading: () => Promise<T>): Promise<T | undefined> {
    try {
      return await reading();
    } catch (error) {
      unread.push({ what, fault: faultOf(error) });
      return undefined;
    }
  }
  const base = { name: node.name, role, ...(master === undefined ? undefined : { master }) };
  const info = await read('INFO', async () => parseInfo(await node.ask('INFO', 'all')));
  const fault = unread[0]?.fault;
  // It answers nothing else either; asking on would only take its time.
  if (fault !== undefined && ['TIMEOUT', 'CLOSED', 'BUSY', 'NOAUTH'].includes(fault)) {
    return { ...base, fault, info: new Map(), config: new Map(), unread };
  }
  const own = ownKeys(prefix);
  let database: NodeFacts['database'] = 'ok';
  if (target.database !== 0 && role === 'master') {
    await node.ask('SELECT', String(target.database)).catch(() => (database = 'refused'));
  }
  const config = await read('CONFIG GET', () => readSettings(node));
  const tried = await read('the ACL', () => readAccess(node, neededCommands(target, prefix), `~${own}*`));
  const access = tried && { ...tried, user: tried.user ?? target.user };
  const slow = await read('SLOWLOG', () => readSlowLog(node));
  const keys = role === 'master' && database === 'ok' ? await read('SCAN', () => sampleKeys(node, own)) : undefined;
  return {
    ...base,
    info: info ?? new Map<string, string>(),
    config: config ?? new Map<string, string>(),
    ...(access && { access }),
    ...(slow && { slow }),
    ...(keys && { keys }),
    database,
    unread,
  };
}
