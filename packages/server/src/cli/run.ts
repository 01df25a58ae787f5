import * as doctorCommand from './commands/doctor.js';
import * as serveCommand from './commands/serve.js';
import { exitCodes } from './exit-codes.js';
import { ownVersion } from './version.js';

const commands: Record<string, { run: (args: readonly string[]) => Promise<number>; help: string; summary: string }> = {
  serve: { run: serveCommand.serve, help: serveCommand.help, summary: serveCommand.summary },
  doctor: { run: doctorCommand.doctor, help: doctorCommand.help, summary: doctorCommand.summary },
};

const overview = `headgate COMMAND [options]

${Object.values(commands)
  .map(({ summary }) => `  ${summary}`)
  .join('\n')}
  help      tell more of a command: headgate help serve
  version   print the version
`;

/** Runs one command; answers the exit code. */
export async function run([name, ...args]: readonly string[]): Promise<number> {
  const asksHelp = args.includes('--help') || args.includes('-h');
  const command = commands[name ?? ''];
  if (command !== undefined && !asksHelp) return command.run(args);
  if (command !== undefined) process.stdout.write(command.help);
  else if (name === undefined || ['help', '--help', '-h'].includes(name)) process.stdout.write(commands[args[0] ?? '']?.help ?? overview);
  else if (['version', '--version', '-v'].includes(name)) {
    process.stdout.write(`${ownVersion()}\n`);
  } else {
    process.stderr.write(`headgate: unknown command ${JSON.stringify(name)}\n\n${overview}`);
    return exitCodes.usage;
  }
  return exitCodes.ok;
}
