import type { Behaviour } from '../site.js';
import { answerBehaviours } from './answers.js';
import { choosingBehaviours } from './choosing.js';
import { connectionBehaviours } from './connections.js';
import { countingBehaviours } from './counting.js';
import { identityBehaviours } from './identity.js';

/** What every framework does alike. */
export const behaviours: readonly Behaviour[] = [
  ...answerBehaviours,
  ...identityBehaviours,
  ...choosingBehaviours,
  ...countingBehaviours,
  ...connectionBehaviours,
];
