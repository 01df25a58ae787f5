import { readConfig, SettingError } from '../../src/config.js';

/** What is wrong with settings of the service, a line for each fault. */
export function settingFaults(args: string[], env: Record<string, string> = {}): string[] {
  try {
    readConfig(args, env);
  } catch (error) {
    if (error instanceof SettingError) return error.message.split('\n');
    throw error;
  }
  return [];
}
