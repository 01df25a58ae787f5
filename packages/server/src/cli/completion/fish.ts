import type { Completed, Flag, Shape, Value, Word } from './shape.js';

const quoted = (text: string): string => `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;

const when = (condition: string): string => `complete -c headgate -n ${quoted(condition)}`;

function valueOf(value: Value): string {
  if (value === 'file') return '-r -F';
  if (value === 'folder') return "-x -a '(__fish_complete_directories)'";
  return value === 'any' ? '-x' : `-x -a ${quoted(value.join(' '))}`;
}

const flagLine = (path: string, { name, help, value }: Flag): string =>
  `${when(`__headgate_in ${path}`)} -l ${name.slice(2)}${value === undefined ? '' : ` ${valueOf(value)}`} -d ${quoted(help)}`;

const wordLines = (before: string, words: readonly Word[]): string[] =>
  words.map(({ name, summary }) => `${when(`__headgate_just ${before}`.trim())} -a ${name} -d ${quoted(summary)}`);

function commandLines({ path, flags, operands }: Completed): string[] {
  const values = operands.map(({ value }) => value).filter((value) => value !== 'any');
  const places = values.map(
    (value) => `${when(`__headgate_in ${path}`)} ${typeof value === 'string' ? '-F' : `-a ${quoted(value.join(' '))}`}`,
  );
  return [...flags.map((flag) => flagLine(path, flag)), ...places];
}

export function fishScript({ words, groups, commands }: Shape): string {
  return `# Completes headgate in fish: headgate completion fish > ~/.config/fish/completions/headgate.fish
function __headgate_in
    set -l words (commandline -opc)
    set -e words[1]
    test (count $words) -ge (count $argv); or return 1
    for i in (seq (count $argv))
        test "$words[$i]" = "$argv[$i]"; or return 1
    end
end
function __headgate_just
    set -l words (commandline -opc)
    test (count $words) -eq (math (count $argv) + 1); or return 1
    test (count $argv) -eq 0; or __headgate_in $argv
end
complete -c headgate -f
${[
  ...wordLines('', words),
  ...wordLines('help', words),
  ...groups.flatMap((group) => [...wordLines(group.name, group.words), ...wordLines(`help ${group.name}`, group.words)]),
  ...commands.flatMap(commandLines),
].join('\n')}
`;
}
