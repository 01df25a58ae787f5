import { ownVersion } from '../version.js';
import { isGroup, type Command, type Group } from './command.js';
import { exitCodes } from './exit-codes.js';
import { helpOf, overview } from './help.js';
import { tree } from './tree/index.js';

/** The command that the words begin with, and what follows them; of a group without one of its commands the group. */
function find(words: readonly string[]): { readonly node: Command | Group | undefined; readonly rest: readonly string[] } {
  const [name, verb, ...rest] = words;
  const node = tree.find(({ path }) => path === name);
  if (node === undefined || !isGroup(node)) return { node, rest: words.slice(1) };
  const command = node.commands.find(({ path }) => path === `${node.path} ${verb}`);
  return command === undefined ? { node, rest: words.slice(1) } : { node: command, rest };
}

const asksHelp = (args: readonly string[]): boolean => args.includes('--help') || args.includes('-h');

function usage(message: string, help: string): number {
  process.stderr.write(`headgate: ${message}\n\n${help}`);
  return exitCodes.usage;
}

/** Runs one command; answers the exit code. */
export async function run(words: readonly string[]): Promise<number> {
  const [name = 'help', ...args] = words;
  if (['help', '--help', '-h'].includes(name)) {
    const { node } = find(args);
    if (node === undefined && args.length > 0) return usage(`unknown command ${JSON.stringify(args[0])}`, overview(tree));
    process.stdout.write(node === undefined ? overview(tree) : helpOf(node));
    return exitCodes.ok;
  }
  if (['version', '--version', '-v'].includes(name)) {
    process.stdout.write(`${ownVersion()}\n`);
    return exitCodes.ok;
  }
  const { node, rest } = find(words);
  if (node === undefined) return usage(`unknown command ${JSON.stringify(name)}`, overview(tree));
  if (asksHelp(rest) || (isGroup(node) && rest.length === 0)) {
    process.stdout.write(helpOf(node));
    return exitCodes.ok;
  }
  return isGroup(node) ? usage(`unknown command ${JSON.stringify(`${node.path} ${rest[0]}`)}`, helpOf(node)) : node.run(rest);
}
