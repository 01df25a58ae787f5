import { run } from './cli/run.js';

/** The `headgate` command. */
export async function main(args: readonly string[]): Promise<void> {
  process.exitCode = await run(args);
}
