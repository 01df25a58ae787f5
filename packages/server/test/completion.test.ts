import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ensureProgram } from '../../../test/support/install.js';
import { ran } from './support/command.js';
import { temporary } from './support/service.js';

/** A folder with a file, and one within it. */
function folderWith(): string {
  const folder = temporary();
  writeFileSync(join(folder, 'my rules.yaml'), '');
  mkdirSync(join(folder, 'my-folder'));
  return folder;
}

const scripts = new Map<string, string>();

beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) scripts.set(shell, (await ran(['completion', shell])).out);
});

/** A file with the script, and its shell, which is installed if it is not there: a test without it would show nothing. */
function prepared(shell: string): { readonly file: string; readonly program: string } {
  const file = join(temporary(), `_headgate.${shell}`);
  writeFileSync(file, scripts.get(shell) ?? '');
  const program = ensureProgram(shell, `install it (Debian, Ubuntu: apt-get install ${shell}; macOS: brew install ${shell})`);
  return { file, program };
}

/** What a shell offers behind a line; the last word is the one that is typed. */
type Offers = (line: string, folder?: string) => string[];

const byBash: Offers = (line, folder = temporary()) => {
  const { file, program } = prepared('bash');
  // Bash breaks words at = for completion.
  const words = line.split(' ').flatMap((word) => word.split(/(?==)|(?<==)/));
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const code = `source ${file}; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _headgate; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync(program, ['--norc', '-uc', code], { cwd: folder, encoding: 'utf8' }).split('\n').filter(Boolean);
};

const byFish: Offers = (line, folder = temporary()) => {
  const { file, program } = prepared('fish');
  const home = temporary();
  return execFileSync(program, ['--no-config', '-c', `source ${file}; complete -C '${line}'`], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '', HOME: home, XDG_CONFIG_HOME: home },
  })
    .split('\n')
    .filter(Boolean)
    .map((offered) => offered.split('\t')[0] ?? '');
};

/** Asks an interactive zsh in a terminal of its own what its completion adds. */
const byZsh: Offers = (line, folder = temporary()) => {
  const { file, program } = prepared('zsh');
  const offered = join(temporary(), 'offered');
  const driver = `
zmodload zsh/zpty
zpty inner ${program} -f -i
zpty -w inner "PROMPT=; RPROMPT=; cd '${folder}'"
zpty -w inner 'autoload -Uz compinit; compinit -D -u; source ${file}; zstyle ":completion:*" list-grouped false'
zpty -w inner 'compadd () {
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
  local -a found; builtin compadd -O found "$@"; builtin compadd "$@"
  [[ $#found -gt 0 ]] && print -rl -- "offered:"$^found >> "${offered}"; :
}'
zpty -w inner 'complete-all () { zle complete-word; print completed >> "${offered}"; exit }; zle -N complete-all; bindkey "^I" complete-all'
zpty -w inner 'print ready'
while zpty -r inner text '*ready*'; do [[ $text == *ready* ]] && break; done
zpty -w -n inner '${line}'$'\\t'
while zpty -r inner text; do :; done 2>/dev/null
cat "${offered}"
`;
  const { stdout, stderr } = spawnSync(program, ['-f', '-c', driver], { encoding: 'utf8', timeout: 20_000 });
  expect(stderr).toBe('');
  expect(stdout).toContain('completed');
  return [...new Set([...stdout.matchAll(/^offered:(.*)$/gm)].map(([, one = '']) => one))];
};

describe.each([
  ['bash', ['-n'], byBash],
  ['zsh', ['-n'], byZsh],
  ['fish', ['--no-execute'], byFish],
] as const)('headgate completion %s', (shell, check, offers) => {
  it('is well-formed', () => {
    const { file, program } = prepared(shell);
    expect(execFileSync(program, [...check, file], { encoding: 'utf8' })).toBe('');
  });

  it('offers commands, their verbs, and the same behind help', () => {
    expect(offers('headgate ')).toEqual(expect.arrayContaining(['serve', 'rules', 'check', 'key', 'quota', 'token', 'completion', 'help']));
    expect(offers('headgate ru')).toEqual(['rules']);
    expect(offers('headgate rules ').sort()).toEqual(
      ['list', 'validate', 'import', 'export', 'diff', 'history', 'rollback', 'recipe', 'shadow'].sort(),
    );
    expect(offers('headgate help key ')).toEqual(expect.arrayContaining(['show', 'reset', 'ban', 'unban']));
  });

  it('offers the flags of just that command, and no secret', () => {
    const flags = offers('headgate quota rebuild --');
    expect(flags).toEqual(expect.arrayContaining(['--from-log', '--dry-run', '--url']));
    for (const other of ['--token', '--database', '--redis']) expect(flags).not.toContain(other);
  });

  it('offers values, names of files and folders where they are asked for', () => {
    const folder = folderWith();
    expect(offers('headgate serve --log-level ').sort()).toEqual(['debug', 'error', 'fatal', 'info', 'silent', 'trace', 'warn']);
    expect(offers('headgate token create ci --role e')).toEqual(['edit']);
    expect(offers('headgate rules recipe lo')).toEqual(['login']);
    expect(offers('headgate completion f')).toEqual(['fish']);
    const plain = (names: string[]): string[] => names.map((name) => name.replace(/\/$/, '').replaceAll('\\ ', ' '));
    expect(plain(offers('headgate rules import my', folder)).sort()).toEqual(['my rules.yaml', 'my-folder']);
    expect(
      plain(offers('headgate serve --http-port 1 --rules my\\ r', folder).concat(offers('headgate serve --rules my', folder))),
    ).toContain('my rules.yaml');
    expect(plain(offers('headgate serve --cache my', folder))).toEqual(['my-folder']);
  });
});

describe('headgate completion bash', () => {
  it('offers values behind = too', () => {
    expect(byBash('headgate serve --log-level=de')).toEqual(['debug']);
    expect(byBash('headgate serve --log-level=debug --hos')).toEqual(['--host']);
  });
});

describe('headgate completion', () => {
  it('knows three shells', async () => {
    expect(await ran(['completion', 'tcsh'])).toMatchObject({ code: 78, err: expect.stringContaining('bash, zsh, fish') as string });
  });
});
