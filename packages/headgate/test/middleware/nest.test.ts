import { nestHosts } from './hosts/nest.js';
import { runBehaviours } from './run.js';

for (const host of nestHosts) runBehaviours(host);
