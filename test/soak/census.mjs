import { EventEmitter } from 'node:events';
import { queryObjects } from 'node:v8';

const probe = setTimeout(() => undefined, 0);
const Timeout = probe.constructor;
clearTimeout(probe);

const instances = (constructor) => queryObjects(constructor, { format: 'count' });

/**
 * Counts in the heap what no list of active handles has: a leaked timer that is unref'd keeps nothing alive but what it holds. Sockets and
 * Redis clients are emitters. It takes most of a second, so it is for now and then.
 */
export const census = () => ({ timers: instances(Timeout), emitters: instances(EventEmitter), promises: instances(Promise) });
