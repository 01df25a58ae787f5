import { koaHost } from './hosts/koa.js';
import { runBehaviours } from './run.js';

runBehaviours(koaHost);
