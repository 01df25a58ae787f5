import { quoted, type Completed, type Flag, type Shape, type Value, type Word } from './shape.js';

function actionOf(value: Value): string {
  if (value === 'file') return '_files';
  if (value === 'folder') return '_files -/';
  return value === 'any' ? ' ' : `(${value.join(' ')})`;
}

const inBrackets = (text: string): string => text.replaceAll(/[\\[\]:]/g, String.raw`\$&`);

function flagSpec({ name, help, placeholder, value, repeats }: Flag): string {
  const text = `[${inBrackets(help)}]`;
  return quoted(value === undefined ? name + text : `${repeats ? '*' : ''}${name}=${text}:${inBrackets(placeholder)}:${actionOf(value)}`);
}

function commandCase({ name, flags, operands }: Completed): string {
  const places = operands.map(({ name: called, optional, value }, index) =>
    quoted(`${index + 1}:${optional ? ':' : ''}${called}:${actionOf(value)}`),
  );
  const specs = [...flags.map(flagSpec), ...places].map((spec) => `    ${spec}`).join(' \\\n');
  return `  ${name}) _arguments \\\n${specs} ;;`;
}

const described = (words: readonly Word[]): string =>
  words.map(({ name, summary }) => `    ${quoted(`${name}:${summary.replaceAll(':', String.raw`\:`)}`)}`).join('\n');

/** A function that completes one word of these, and by it what follows. */
const level = (called: string, words: readonly Word[], cases: readonly string[]): string => `${called}() {
  local curcontext="$curcontext" state line
  typeset -A opt_args
  local -a words_here
  words_here=(
${described(words)}
  )
  _arguments -C '1:command:->word' '*::argument:->rest'
  case $state in
  word) _describe -t commands command words_here ;;
  rest)
  case $line[1] in
${cases.join('\n')}
  esac ;;
  esac
}`;

/** For `source`, and as a file \`_headgate\` of $fpath. */
export function zshScript({ words, groups, commands }: Shape): string {
  const single = commands.filter(({ path, name }) => path === name);
  const levels = groups.map((group) =>
    level(`_headgate_${group.name}`, group.words, commands.filter(({ path }) => path.startsWith(`${group.name} `)).map(commandCase)),
  );
  const top = [...single.map(commandCase), ...groups.map(({ name }) => `  ${name}) _headgate_${name} ;;`), '  help) _headgate ;;'];
  return `#compdef headgate
# Completes headgate in zsh: source <(headgate completion zsh), after compinit
${levels.join('\n')}
${level('_headgate', words, top)}
if [[ $funcstack[1] == _headgate ]]; then _headgate "$@"; else compdef _headgate headgate; fi
`;
}
