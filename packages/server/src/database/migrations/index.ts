import type { Migration } from './migration.js';
import { rules } from './0001-rules.js';
import { exceptions } from './0002-exceptions.js';
import { tokens } from './0003-tokens.js';
import { quotaCheckpoints } from './0004-quota-checkpoints.js';

/** All, in their order. */
export const migrations: readonly Migration[] = [rules, exceptions, tokens, quotaCheckpoints];
