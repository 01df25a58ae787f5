import { commandsOf, isGroup, type Command, type Tree } from '../../src/cli/command.js';
import { exitMeanings } from '../../src/cli/exit-codes.js';
import { configSetting, operandText } from '../../src/settings/read.js';
import { variableOf, type Setting, type SettingTable } from '../../src/settings/setting.js';

const inCell = (text: string): string => text.replaceAll('|', String.raw`\|`);
const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

function markdownTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const line = (cells: readonly string[]): string => `| ${cells.map(inCell).join(' | ')} |`;
  return [line(titles), line(titles.map(() => '---')), ...rows.map(line)].join('\n');
}

const sentence = (text: string): string => `${(text[0] ?? '').toUpperCase()}${text.slice(1)}.`;

const flagOf = ({ name, takes, placeholder }: Setting<unknown>): string => (takes === 'switch' ? `--${name}` : `--${name} ${placeholder}`);

const anchor = (path: string): string => `#headgate-${path.replaceAll(' ', '-')}`;

function optionRow(setting: Setting<unknown>): string[] {
  const { name, scope, help, fallback, needed, takes } = setting;
  const flag = scope === 'secret' ? 'only the variable' : code(flagOf(setting));
  const more = [...(needed === undefined ? [] : ['needed']), ...(takes === 'values' ? ['may be repeated'] : [])];
  return [flag, scope === 'flag' ? '' : code(variableOf(name)), [help, ...more].join('; '), fallback];
}

/** Settings that have a page of their own. */
const configuration = 'the [settings of the service](configuration.md)';

function optionsOf({ settings, file }: Command, serve: SettingTable): string {
  const all = [...(file === true ? [configSetting] : []), ...Object.values(settings)];
  const ofService = Object.values(serve);
  const own = file === true ? all.filter((one) => !ofService.includes(one)) : all;
  const titles = ['option', 'variable', '', 'by default'];
  return [...(own.length < all.length ? [`Takes ${configuration}.`] : []), markdownTable(titles, own.map(optionRow))].join('\n\n').trim();
}

function commandText(command: Command, serve: SettingTable): string {
  const { path, summary, about, operands = [], examples = [], exits = [] } = command;
  return [
    `### headgate ${path}`,
    code(['headgate', path, ...operands.map(operandText), '[options]'].join(' ')),
    [sentence(summary), about].filter(Boolean).join(' '),
    optionsOf(command, serve),
    examples.length === 0 ? '' : ['```sh', ...examples.map(([line, does]) => `${line} # ${does}`), '```'].join('\n'),
    exits.length === 0 ? '' : `Ends with ${exits.map(([number, when]) => `${number}: ${when}`).join('; ')}.`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

const generated = '<!-- Made by `npm run docs:generate`. Change what the commands and settings say of themselves, not this file. -->';

/** docs/cli.md: everything that the commands say of themselves. */
export function commandsPage(tree: Tree, serve: SettingTable): string {
  const overview = commandsOf(tree).map(({ path, summary }) => [`[${path}](${anchor(path)})`, summary]);
  const parts = tree.flatMap((node) => {
    if (!isGroup(node)) return [`## ${node.path}`, commandText(node, serve)];
    return [
      `## ${node.path}`,
      [sentence(node.summary), node.about].filter(Boolean).join(' '),
      ...node.commands.map((one) => commandText(one, serve)),
    ];
  });
  return `${[
    '# The command line',
    generated,
    '`headgate help COMMAND` tells what this page does. What is typed wrong is answered with what was probably meant.',
    markdownTable(['headgate ...', ''], overview),
    '## What all commands share',
    `Tables are for people, and have colours and the width of the screen on a terminal only; \`NO_COLOR\` set to anything switches colours off.
\`--json\` prints one JSON document instead; the fields that are there stay, new ones may come. Progress and faults go to standard error, progress only if
that is a terminal. A file named \`-\` is standard input.`,
    `Most options may be set by a variable too; the option goes before it, and the file that \`NAME_FILE\` names after it
(\`HEADGATE_TOKEN_FILE=/run/secrets/token\`). Secrets have no option, as a command line is seen by everybody on the machine.`,
    'Commands that ask a running service (`check`, `key`, `quota`) need a token as soon as there is any (`headgate token create`); `check` and `quota show` need none.',
    '## Exit codes',
    markdownTable(
      ['', ''],
      exitMeanings.map(([number, meaning]) => [String(number), meaning]),
    ),
    'From 64 on they are those of `sysexits(3)`.',
    ...parts,
  ].join('\n\n')}\n`;
}

/** An example that a test reads as the service does. */
export const settingsFile = `# /etc/headgate.yaml
http-port: 8080
host: 0.0.0.0
rules: /etc/headgate/rules.yaml
redis: # one URL, or several by name
  a: redis://redis-a:6379
  b: redis://redis-b:6379
weight: { b: 2 }
log-level: warn
`;

function settingRow(setting: Setting<unknown>): string[] {
  const { name, scope, help, fallback, takes } = setting;
  const isOwn = setting !== configSetting;
  const more = takes === 'values' ? `${help} (adds up: the flag again, white space in the variable, a list or map in the file)` : help;
  return [scope === 'secret' ? '' : code(flagOf(setting)), code(variableOf(name)), isOwn ? code(name) : '', more, fallback];
}

/** docs/configuration.md: everything that `headgate serve` can be told. */
export function configurationPage(serve: SettingTable): string {
  return `${[
    '# Settings of the service',
    generated,
    `\`headgate serve\` takes each setting from the first of these that has it:

1. its flag, \`--http-port 8080\`;
2. its variable, \`HEADGATE_HTTP_PORT=8080\`;
3. the file that its variable with \`_FILE\` names, \`HEADGATE_SECRET_FILE=/run/secrets/headgate\`, as containers are given secrets; the last line end is
   not part of the value;
4. the settings file, YAML or JSON, that \`--config FILE\` or \`HEADGATE_CONFIG\` names;
5. its default.`,
    `An empty variable counts as absent, but for secrets. Secrets have no flag: a command line is seen by everybody on the machine. All faults are told at
once, a line each, and the service ends with 78. \`headgate config print\`, with the same flags, shows every value and where it came from.`,
    markdownTable(
      ['flag', 'variable', 'in the file', '', 'by default'],
      [configSetting, ...Object.values(serve)].map((one) => settingRow(one)),
    ),
    '## A settings file',
    `\`\`\`yaml\n${settingsFile}\`\`\``,
    'Rules are not in it: they are a [file of their own, or in a database](service.md#rules-file).',
  ].join('\n\n')}\n`;
}
