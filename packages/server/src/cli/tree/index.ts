import type { Command, Group } from '../command.js';
import { config } from './config.js';
import { doctor } from './doctor.js';
import { rules } from './rules.js';
import { serve } from './serve.js';
import { token } from './token.js';

/** All commands, in the order of help. */
export const tree: readonly (Command | Group)[] = [serve, rules, token, doctor, config];
