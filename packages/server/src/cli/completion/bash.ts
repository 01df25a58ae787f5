import { quoted, type Shape, type Value, type Word } from './shape.js';

const names = (words: readonly Word[]): string => words.map(({ name }) => name).join(' ');

const valueText = (value: Value): string => (typeof value === 'string' ? (value === 'any' ? '' : `@${value}`) : value.join(' '));

const branch = (pattern: string, result: string): string => `    ${quoted(pattern)}) echo ${quoted(result)} ;;`;

/** Each list as a `case`: bash 3.2, as macOS has it, knows no maps. */
export function bashScript({ words, groups, commands }: Shape): string {
  const following = [
    branch('', names(words)),
    branch('help', names(words)),
    ...groups.map((group) => branch(group.name, names(group.words))),
  ];
  const flags = commands.map(({ path, flags: all }) => branch(path, all.map(({ name }) => name).join(' ')));
  const valued = commands.map(({ path, flags: all }) => {
    const taking = all.filter(({ value }) => value !== undefined).map(({ name }) => name);
    return branch(path, ` ${taking.join(' ')} `);
  });
  const values = commands.flatMap(({ path, flags: all, operands }) => [
    ...all.flatMap(({ name, value }) => (value === undefined || value === 'any' ? [] : [branch(`${path} ${name}`, valueText(value))])),
    ...operands.flatMap(({ value }, index) => (value === 'any' ? [] : [branch(`${path} ${index + 1}`, valueText(value))])),
  ]);
  return `# Completes headgate in bash: source <(headgate completion bash)
_headgate_following() {
  case "$1" in
${following.join('\n')}
  esac
}
_headgate_flags() {
  case "$1" in
${flags.join('\n')}
  esac
}
_headgate_valued() {
  case "$1" in
${valued.join('\n')}
  esac
}
_headgate_values() {
  case "$1" in
${values.join('\n')}
  esac
}
_headgate() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path='' flag='' word want line
  local -i i=1 operand=1
  COMPREPLY=()
  # The words of the command come first, behind help too.
  [[ \${COMP_WORDS[1]} == help && $COMP_CWORD -gt 1 ]] && i=2
  local -i first=$i
  while ((i < COMP_CWORD)) && [[ -n $(_headgate_following "$path") ]]; do
    path="\${path:+$path }\${COMP_WORDS[i]}"
    i+=1
  done
  want=$(_headgate_following "$path")
  if [[ -z $want ]]; then
    ((first == 2)) && return
    for (( ; i < COMP_CWORD; i++)); do
      word=\${COMP_WORDS[i]}
      if [[ -n $flag ]]; then
        # --name=value comes as three words.
        [[ $word == = ]] || flag=''
      elif [[ $word == -* ]]; then
        [[ $(_headgate_valued "$path") == *" $word "* ]] && flag=$word
      else
        operand+=1
      fi
    done
    [[ $cur == = ]] && cur=''
    if [[ -n $flag ]]; then want=$(_headgate_values "$path $flag")
    elif [[ $cur == -* ]]; then want=$(_headgate_flags "$path")
    else want=$(_headgate_values "$path $operand")
    fi
  fi
  local action=(-W "$want")
  case $want in
    @file) action=(-f) ;;
    @folder) action=(-d) ;;
  esac
  [[ $want == @* ]] && compopt -o filenames 2>/dev/null
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "\${action[@]}" -- "$cur")
}
complete -F _headgate headgate
`;
}
