import { unreachable } from './connection.js';
import { discover, Unreachable, type Discovered, type Found } from './discover.js';
import { examine } from './examine.js';
import type { NodeFacts } from './facts.js';
import { byWorst, type Finding } from './finding.js';
import { gatherNode } from './gather.js';
import type { Connect, Node, Target } from './node.js';
import { measure, measureChecks } from './timing.js';

/** Checks through the library. */
export interface Checker {
  /** One check of a key of the doctor's own, which expires within a second. Rejects with what Redis said. */
  check(key: string): Promise<void>;
  close(): Promise<void>;
}

export interface Patient {
  readonly target: Target;
  readonly connect: Connect;
  readonly openChecker: () => Checker;
  readonly prefix: string;
  readonly deadlineMs: number;
}

export interface Diagnosis {
  /** False if no server could be asked. */
  readonly reached: boolean;
  /** The worst first. */
  readonly findings: readonly Finding[];
}

/** A key of the doctor for each master of a Cluster: there a key decides where its check goes. */
async function keysFor({ cluster, servers }: Discovered): Promise<Map<string, string>> {
  const masters = servers.filter(({ role, node }) => role === 'master' && node !== undefined);
  const keys = new Map<string, string>();
  if (cluster === undefined) return new Map(masters.map(({ name }) => [name, 'doctor']));
  for (let i = 0; i < 20 * masters.length && keys.size < masters.length; i += 1) {
    const slot = Number(await masters[0]?.node?.ask('CLUSTER', 'KEYSLOT', `doctor-${i}`));
    const holder = cluster.members.find(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last))?.name;
    if (holder !== undefined && !keys.has(holder) && masters.some(({ name }) => name === holder)) keys.set(holder, `doctor-${i}`);
  }
  return keys;
}

/** Times are taken one server after the other: nothing else may go on in this process. */
async function withTimes(nodes: readonly NodeFacts[], found: Discovered, checker: Checker): Promise<NodeFacts[]> {
  const keys = await keysFor(found).catch(() => new Map<string, string>());
  const timed: NodeFacts[] = [];
  for (const facts of nodes) {
    const node = found.servers.find(({ name }) => name === facts.name)?.node;
    if (node === undefined || facts.fault !== undefined) {
      timed.push(facts);
      continue;
    }
    const { unread, ...times } = await measure(node);
    const key = keys.get(facts.name);
    const checks = facts.role === 'replica' || key === undefined ? undefined : await measureChecks(() => checker.check(key));
    timed.push({ ...facts, ...times, ...(checks && { checks }), unread: [...facts.unread, ...unread] });
  }
  return timed;
}

const silentNode = ({ name, role, fault = 'CLOSED', master }: Found): NodeFacts => {
  return { name, role, ...(master !== undefined && { master }), fault, info: new Map(), config: new Map(), unread: [] };
};

/** Looks at a Redis, and tells what is wrong with it for rate limits. */
export async function diagnose({ target, connect, openChecker, prefix, deadlineMs }: Patient): Promise<Diagnosis> {
  let found: Discovered;
  try {
    found = await discover(connect, target);
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    return { reached: false, findings: [unreachable(error.attempts)] };
  }
  const checker = openChecker();
  const open = found.servers.flatMap(({ node }): Node[] => (node === undefined ? [] : [node]));
  try {
    const gathered = await Promise.all(
      found.servers.map(async (server) => {
        const { node, role, master } = server;
        return node === undefined ? silentNode(server) : gatherNode({ node, role, master }, target, prefix);
      }),
    );
    const nodes = await withTimes(gathered, found, checker);
    const { servers: _, ...rest } = found;
    return { reached: true, findings: byWorst(examine({ target, prefix, deadlineMs, nodes, ...rest })) };
  } finally {
    for (const node of open) node.close();
    await checker.close();
  }
}
