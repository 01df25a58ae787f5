import { exitCodes } from './cli/exit-codes.js';
import { run } from './cli/run.js';

/** The `headgate` command. */
export async function main(args: readonly string[]): Promise<void> {
  // Whoever reads may have had enough, as head has.
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    process.exit(code === 'EPIPE' ? exitCodes.ok : exitCodes.failed);
  });
  try {
    process.exitCode = await run(args);
  } catch (error) {
    // Nobody foresaw it; a number of its own, as 1 says of some commands what they found.
    process.stderr.write(`headgate: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = exitCodes.software;
  }
}
