import { aclCommands } from './checks/access.js';
import { clusterNodes, clusterSlots, clusterState, fullCoverage } from './checks/cluster.js';
import { clients, idleTimeout, keepAlive } from './checks/connections.js';
import { foreignKeys, lastingKeys } from './checks/keys.js';
import { checkTime, roundTrip, slowCommands } from './checks/latency.js';
import { evictions, fullness, maxmemory, policy, refusedWrites } from './checks/memory.js';
import { diskWrites, forks, persistence } from './checks/persistence.js';
import { clocks, failoverLoss, replicaLink, replicas, sentinels } from './checks/replication.js';
import { answering, database, topology, unreadable, version } from './checks/server.js';
import { silentAddresses } from './connection.js';
import type { Facts, NodeFacts } from './facts.js';
import type { Finding } from './finding.js';

const ofTheWhole = [clusterState, clusterSlots, clusterNodes, sentinels];

/** Of a server that cannot be asked only this is told. */
const ofAnyNode = [answering];

const ofNode = [
  version,
  topology,
  database,
  policy,
  maxmemory,
  fullness,
  evictions,
  refusedWrites,
  foreignKeys,
  lastingKeys,
  persistence,
  diskWrites,
  forks,
  replicas,
  replicaLink,
  failoverLoss,
  clocks,
  roundTrip,
  checkTime,
  slowCommands,
  fullCoverage,
  aclCommands,
  idleTimeout,
  keepAlive,
  clients,
  unreadable,
];

function examineNode(node: NodeFacts, facts: Facts): Finding[] {
  const checks = node.fault === undefined ? [...ofAnyNode, ...ofNode] : ofAnyNode;
  return checks.flatMap((check) => check(node, facts)).map((finding) => ({ ...finding, node: finding.node ?? node.name }));
}

/** Judges facts: pure. */
export function examine(facts: Facts): Finding[] {
  return [
    ...silentAddresses(facts.silent, facts.target),
    ...ofTheWhole.flatMap((check) => check(undefined, facts)),
    ...facts.nodes.flatMap((node) => examineNode(node, facts)),
  ];
}
