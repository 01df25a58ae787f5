/** For those who write a store: what stands before every one that is not in the process. Redis's brings it along. */
export { layersOver } from './stack.js';
export type { Layered, LayersOptions, LayersOver } from '../layered.js';
