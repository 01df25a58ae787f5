import { honoHost } from './hosts/web.js';
import { runBehaviours } from './run.js';

runBehaviours(honoHost);
