import { clusterFaults } from './cluster.js';
import type { Fault } from './fault.js';
import { networkFaults } from './network.js';
import { processFaults } from './process.js';
import { replicaFaults } from './replicas.js';
import { serverFaults } from './server.js';

/** In the order of the table. */
export const faults: readonly Fault[] = [...serverFaults, ...networkFaults, ...replicaFaults, ...clusterFaults, ...processFaults];
