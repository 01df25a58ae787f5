import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { displayWidth, table } from '../src/cli/table.js';
import { showWait } from '../src/cli/time.js';
import { bin, ran } from './support/command.js';
import { rulesFile } from './support/service.js';

const wide = { width: Number.POSITIVE_INFINITY, color: false };
const columns = [{ title: 'NAME' }, { title: 'N', right: true }, { title: 'WHAT' }] as const;

describe('a table', () => {
  it('has columns by the places that texts take on a terminal', () => {
    expect(['abc', 'é', 'e\u0301', '日本', '😀', '👨‍👩‍👧', '❤️', 'ｆ', '\u200b'].map(displayWidth)).toEqual([3, 1, 1, 4, 2, 2, 2, 2, 0]);
    expect(
      table(
        columns,
        [
          ['日本', '7', 'x'],
          ['a', '1000', 'yy'],
        ],
        wide,
      ),
    ).toBe(['NAME     N  WHAT', '日本     7  x', 'a     1000  yy'].join('\n'));
  });

  it('stays within a terminal: texts go on below themselves, whole words first', () => {
    const rows = [
      ['search', '1', 'added rule "a" and another'],
      ['x'.repeat(30), '2', '日本語日本語日本語日本語'],
    ];
    const text = table(columns, rows, { width: 40, color: false });
    for (const line of text.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(40);
    expect(text).toMatch(/^search +1 +added rule "a"/m);
    expect(text.replaceAll(/\s/g, '')).toContain('xxx');
    expect(table(columns, rows, { width: 1, color: false }).split('\n').length).toBeGreaterThan(4);
    expect(table(columns, rows, wide).split('\n')).toHaveLength(3);
  });

  it('lets no text steer the terminal', () => {
    const text = table(columns, [['\u001b[2Ja\nb', '1', '\u202eevil\u009b']], wide);
    expect(text).toContain(String.raw`\u001b[2Ja\u000ab`);
    expect(text).toContain(String.raw`\u202eevil\u009b`);
  });

  it('has colours only where they are wanted, and they take no place', () => {
    const rows = [[{ text: 'a', color: 'red' }, '1', 'x']] as const;
    const plain = table(columns, rows, wide);
    const colored = table(columns, rows, { ...wide, color: true });
    expect(colored).toContain('\u001b[31m');
    expect(colored.replaceAll(/\u001b\[\d+m/g, '')).toBe(plain);
  });
});

describe('a wait', () => {
  it('is told rounded up', () => {
    const waits = [0, 0.2, 999, 1000, 1001, 59_999, 60_000, 5_400_000, 86_400_001, null];
    expect(waits.map(showWait)).toEqual(['0 ms', '1 ms', '999 ms', '1 s', '1.1 s', '60 s', '1 min', '1.5 h', '1.1 d', 'never']);
  });
});

describe('a terminal', () => {
  /** In a pseudo-terminal of util-linux. */
  const inTerminal = (args: string[], env: Record<string, string> = {}): string =>
    execFileSync('script', ['-qec', [process.execPath, bin, ...args].join(' '), '/dev/null'], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] ?? '', TERM: 'xterm', ...env },
    });

  it('is given colours, unless NO_COLOR says no; a pipe never', async () => {
    const file = rulesFile('version: 1\nrules:\n  - { name: a, key: [ip], limit: { fixedWindow: { limit: 5, window: 1m } } }\n');
    expect(inTerminal(['rules', 'list', file])).toContain('\u001b[32min force\u001b[0m');
    expect(inTerminal(['rules', 'list', file], { NO_COLOR: '1' })).not.toContain('\u001b[');
    expect(inTerminal(['rules', 'list', file, '--json'])).not.toContain('\u001b[');
    expect((await ran(['rules', 'list', file])).out).not.toContain('\u001b[');
  });

  it('that goes away while it is written to is no fault', () => {
    const line = `set -o pipefail; ${process.execPath} ${bin} completion zsh | true; echo "ended with \${PIPESTATUS[0]}"`;
    expect(execFileSync('bash', ['-c', line], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })).toMatch(/ended with 0\n/);
  });
});
