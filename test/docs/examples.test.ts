import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorCodes } from 'headgate';

const root = join(import.meta.dirname, '../..');
const folder = join(import.meta.dirname, '.examples');

/** Every TypeScript block of a text: of Markdown, or of docstrings. */
function blocksOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8').replace(/^ *\* ?/gm, file.endsWith('.ts') ? '' : '$&');
  return [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code);
}

function filesIn(place: string, ending: string): string[] {
  const names = readdirSync(join(root, place), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith(ending) && !name.includes('gen/')).map((name) => join(place, name));
}

const sources = filesIn('packages/headgate/src', '.ts');

describe('documentation', () => {
  it('has only examples that compile', () => {
    const files = ['README.md', ...filesIn('docs', '.md'), ...sources];
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    let count = 0;
    for (const file of files) {
      for (const [index, code] of blocksOf(file).entries()) {
        count += 1;
        writeFileSync(join(folder, `${file.replaceAll(/[^\w]/g, '_')}_${index}.ts`), `// ${file}\n${code}\nexport {};\n`);
      }
    }
    expect(count).toBeGreaterThan(15);
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: '../../../tsconfig.base.json',
        compilerOptions: {
          ...{ composite: false, noEmit: true, declaration: false, noUnusedLocals: false, lib: ['es2023', 'dom'] },
          // As Nest's own projects have it.
          experimentalDecorators: true,
        },
        include: ['*.ts'],
      }),
    );
    const run = (): string => {
      try {
        return execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', folder], { cwd: root, encoding: 'utf8' });
      } catch (error) {
        return (error as { stdout: string }).stdout;
      }
    };
    expect(run()).toBe('');
    rmSync(folder, { recursive: true, force: true });
  });

  it('gives every exported function and class of the library a docstring', () => {
    const bare = sources.flatMap((file) => {
      const lines = readFileSync(join(root, file), 'utf8').split('\n');
      return lines.flatMap((line, index) => {
        if (!/^export (async )?(function|class) /.test(line) || file.includes('/testing/')) return [];
        return lines[index - 1]?.trim().endsWith('*/') ? [] : [`${file}:${index + 1}: ${line}`];
      });
    });
    expect(bare).toEqual([]);
  });

  it('lists exactly the error codes that exist, with their meaning', () => {
    const text = readFileSync(join(root, 'docs/errors.md'), 'utf8');
    const listed = [...text.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, code, meaning]) => [code, meaning]);
    expect(listed).toEqual(Object.entries(errorCodes));
  });

  it('carries the same README in the package', () => {
    expect(readFileSync(join(root, 'packages/headgate/README.md'), 'utf8')).toBe(readFileSync(join(root, 'README.md'), 'utf8'));
  });
});
