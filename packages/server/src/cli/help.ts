import { configSetting, operandText } from '../settings/read.js';
import { variableOf, type Setting } from '../settings/setting.js';
import { isGroup, type Command, type Group } from './command.js';
import { wrap } from './findings.js';

const width = 120;

/** Two columns, the second wrapped below itself. */
function columns(rows: readonly (readonly [string, string])[]): string {
  const first = Math.min(34, Math.max(...rows.map(([left]) => left.length)));
  return rows
    .map(([left, right]) => {
      const [line = '', ...more] = wrap(right, width - first - 4);
      const indented = more.map((text) => ' '.repeat(first + 4) + text);
      // What is too long for its column has a line of its own.
      const head = left.length > first ? [`  ${left}`, ' '.repeat(first + 4) + line] : [`  ${left.padEnd(first)}  ${line}`];
      return [...head, ...indented].join('\n');
    })
    .join('\n');
}

const section = (title: string, rows: readonly (readonly [string, string])[]): string[] =>
  rows.length === 0 ? [] : [`${title}\n${columns(rows)}`];

const flagOf = ({ name, takes, placeholder }: Setting<unknown>): string => (takes === 'switch' ? `--${name}` : `--${name} ${placeholder}`);

function settingRow(setting: Setting<unknown>): readonly [string, string] {
  const { name, help, fallback, scope } = setting;
  const text = fallback === '' ? help : `${help}; by default ${fallback}`;
  if (scope === 'secret') return [variableOf(name), text];
  return [flagOf(setting), scope === 'flag' ? text : `${text} [${variableOf(name)}]`];
}

const sentences = (summary: string, about = ''): string =>
  wrap(`${(summary[0] ?? '').toUpperCase()}${summary.slice(1)}. ${about}`.trim(), width).join('\n');

/** All that a command says of itself. */
export function commandHelp({ path, summary, about, operands = [], settings, examples = [], exits = [], file }: Command): string {
  const all: Setting<unknown>[] = [...(file === true ? [configSetting] : []), ...Object.values(settings)];
  const [withFlag, secrets] = [all.filter(({ scope }) => scope !== 'secret'), all.filter(({ scope }) => scope === 'secret')];
  const wanted = all.filter((one) => one.needed !== undefined);
  const usage = [
    'headgate',
    path,
    ...operands.map(operandText),
    ...wanted.map(flagOf),
    ...(all.length > wanted.length ? ['[options]'] : []),
  ].join(' ');
  const ends = [[0, 'done'], ...exits, [78, 'a setting or what was given is faulty; every fault is told, a line each']] as const;
  return `${[
    usage,
    sentences(summary, about),
    ...section('Options [variable]:', withFlag.map(settingRow)),
    ...section('Variables only, as a command line is seen by everybody:', secrets.map(settingRow)),
    ...section('Examples:', examples),
    ...section(
      'Ends with:',
      ends.map(([code, when]) => [String(code), when] as const),
    ),
  ].join('\n\n')}\n`;
}

export function groupHelp({ path, summary, about, commands }: Group): string {
  const rows = commands.map(
    (one) => [[one.path.slice(path.length + 1), ...(one.operands ?? []).map(operandText)].join(' '), one.summary] as const,
  );
  return `${[
    `headgate ${path} COMMAND [options]`,
    sentences(summary, about),
    columns(rows),
    `headgate help ${path} COMMAND tells more of one.`,
  ].join('\n\n')}\n`;
}

export function overview(tree: readonly (Command | Group)[]): string {
  const own = [
    ['help', 'tell more of a command: headgate help serve'],
    ['version', 'print the version'],
  ] as const;
  return `headgate COMMAND [options]\n\n${columns([...tree.map(({ path, summary }) => [path, summary] as const), ...own])}\n`;
}

export const helpOf = (node: Command | Group): string => (isGroup(node) ? groupHelp(node) : commandHelp(node));
