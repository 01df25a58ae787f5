import { SettingError } from '../redis-address.js';
import { DatabaseError } from '../database/errors.js';
import { RulesError } from '../rules/faults.js';
import { InputError } from '../rules/inputs.js';
import { ConflictError, NoVersionError } from '../rules/repository.js';
import { exitCodes } from './exit-codes.js';
import { ServiceError } from './service-error.js';

const mendable = [SettingError, InputError, NoVersionError, RulesError];
const elsewhere = [DatabaseError, ConflictError];

/** Runs a command, tells what is wrong, and answers the exit code: that of the work, or 0. What nobody foresaw is thrown. */
export async function orTell(work: () => Promise<unknown>): Promise<number> {
  try {
    const code = await work();
    return typeof code === 'number' ? code : exitCodes.ok;
  } catch (error) {
    if (error instanceof ServiceError) {
      process.stderr.write(`${error.message}\n`);
      return error.exitCode;
    }
    const is = (kinds: readonly (new (...args: never[]) => Error)[]): boolean => kinds.some((kind) => error instanceof kind);
    if (!is(mendable) && !is(elsewhere)) throw error;
    process.stderr.write(`${(error as Error).message}\n`);
    return is(elsewhere) ? exitCodes.failed : exitCodes.config;
  }
}
