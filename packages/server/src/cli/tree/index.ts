import type { Tree } from '../command.js';
import { check } from './check.js';
import { completion } from './completion.js';
import { config } from './config.js';
import { doctor } from './doctor.js';
import { key } from './key.js';
import { quota } from './quota.js';
import { rules } from './rules.js';
import { serve } from './serve.js';
import { token } from './token.js';

/** All commands, in the order of help. */
export const tree: Tree = [serve, rules, check, key, quota, token, doctor, config, completion(() => tree)];
