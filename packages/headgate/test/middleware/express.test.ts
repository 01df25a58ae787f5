import { expressHosts } from './hosts/express.js';
import { runBehaviours } from './run.js';

for (const host of expressHosts) runBehaviours(host);
