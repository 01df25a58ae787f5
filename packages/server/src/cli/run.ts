import { ownVersion } from '../version.js';
import { exitCodes } from './exit-codes.js';

interface Command {
  readonly run: (args: readonly string[]) => Promise<number>;
  readonly help: string;
}

/** Loaded when it is asked for: a command that does not serve need not wait for a web server and database drivers. */
const commands: Record<string, { readonly summary: string; readonly load: () => Promise<Command> }> = {
  serve: {
    summary: 'answer checks over HTTP',
    load: () => import('./commands/serve.js').then(({ serve, help }) => ({ run: serve, help })),
  },
  rules: {
    summary: 'check, import and look at rules; take one out of force',
    load: () => import('./commands/rules.js').then(({ rules, help }) => ({ run: rules, help })),
  },
  token: {
    summary: 'make, list and revoke tokens of the admin API',
    load: () => import('./commands/token.js').then(({ token, help }) => ({ run: token, help })),
  },
  doctor: {
    summary: 'tell what is wrong with a Redis for rate limits',
    load: () => import('./commands/doctor.js').then(({ doctor, help }) => ({ run: doctor, help })),
  },
};

const overview = `headgate COMMAND [options]

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(9)} ${summary}`)
  .join('\n')}
  help      tell more of a command: headgate help serve
  version   print the version
`;

/** Runs one command; answers the exit code. */
export async function run([name, ...args]: readonly string[]): Promise<number> {
  const asksHelp = args.includes('--help') || args.includes('-h');
  const find = (asked = ''): Promise<Command> | undefined => (Object.hasOwn(commands, asked) ? commands[asked]?.load() : undefined);
  const command = await find(name);
  if (command !== undefined && !asksHelp) return command.run(args);
  if (command !== undefined) process.stdout.write(command.help);
  else if (name === undefined || ['help', '--help', '-h'].includes(name)) {
    const asked = await find(args[0]);
    process.stdout.write(asked?.help ?? overview);
  } else if (['version', '--version', '-v'].includes(name)) {
    process.stdout.write(`${ownVersion()}\n`);
  } else {
    process.stderr.write(`headgate: unknown command ${JSON.stringify(name)}\n\n${overview}`);
    return exitCodes.usage;
  }
  return exitCodes.ok;
}
