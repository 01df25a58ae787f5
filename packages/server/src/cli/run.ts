import { didYouMean } from '../nearest.js';
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

function told(help: string): number {
  process.stdout.write(help);
  return exitCodes.ok;
}

/** What is no command, with the one that was probably meant. */
function unknown(path: string, { known, help }: { readonly known: readonly string[]; readonly help: string }): number {
  process.stderr.write(`headgate: unknown command ${JSON.stringify(path)}${didYouMean(path, known)}\n\n${help}`);
  return exitCodes.usage;
}

const own = ['help', 'version'];
const unknownName = (name: string): number => unknown(name, { known: [...tree.map(({ path }) => path), ...own], help: overview(tree) });
const unknownVerb = (group: Group, verb: string): number =>
  unknown(`${group.path} ${verb}`, { known: group.commands.map(({ path }) => path), help: helpOf(group) });

function help(words: readonly string[]): number {
  const [name] = words;
  if (name === undefined || own.includes(name)) return told(overview(tree));
  const { node, rest } = find(words);
  if (node === undefined) return unknownName(name);
  return isGroup(node) && rest[0] !== undefined ? unknownVerb(node, rest[0]) : told(helpOf(node));
}

/** Runs one command; answers the exit code. */
export async function run(words: readonly string[]): Promise<number> {
  const [name = 'help', ...args] = words;
  if (['help', '--help', '-h'].includes(name)) return help(args);
  if (['version', '--version', '-v'].includes(name)) return told(`${ownVersion()}\n`);
  const { node, rest } = find(words);
  if (node === undefined) return unknownName(name);
  if (asksHelp(rest) || (isGroup(node) && rest.length === 0)) return told(helpOf(node));
  return isGroup(node) ? unknownVerb(node, rest[0] ?? '') : node.run(rest);
}
