import { fetchHost } from './hosts/web.js';
import { runBehaviours } from './run.js';

runBehaviours(fetchHost);
