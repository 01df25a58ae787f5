import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { SettingError } from '../redis-address.js';

/** What stands for standard input where a file is named. */
export const standardInput = '-';

/** @throws SettingError */
export const cannotRead = (file: string, error: unknown): never => {
  throw new SettingError(`${file}: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
};

/** The text of a file, or of standard input. @throws SettingError if it cannot be read */
export const readText = async (file: string): Promise<string> =>
  file === standardInput ? text(process.stdin) : readFile(file, 'utf8').catch((error: unknown) => cannotRead(file, error));
