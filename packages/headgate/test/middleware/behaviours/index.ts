import type { Behaviour } from '../site.js';
import { answerBehaviours } from './answers.js';

/** What every framework does alike. */
export const behaviours: readonly Behaviour[] = [...answerBehaviours];
