import { SettingError } from '../config.js';
import { DatabaseError } from '../database/errors.js';
import { RulesError } from '../rules/faults.js';
import { InputError } from '../rules/inputs.js';
import { ConflictError, NoVersionError } from '../rules/repository.js';
import { exitCodes } from './exit-codes.js';

const mendable = [SettingError, InputError, NoVersionError, RulesError];
const elsewhere = [DatabaseError, ConflictError];

/** Runs a command that works on rules or the database, tells what is wrong, and answers the exit code. What nobody foresaw is thrown. */
export async function orTell(work: () => Promise<void>): Promise<number> {
  try {
    await work();
    return exitCodes.ok;
  } catch (error) {
    const is = (kinds: readonly (new (...args: never[]) => Error)[]): boolean => kinds.some((kind) => error instanceof kind);
    if (!is(mendable) && !is(elsewhere)) throw error;
    process.stderr.write(`${(error as Error).message}\n`);
    return is(elsewhere) ? exitCodes.failed : exitCodes.config;
  }
}
