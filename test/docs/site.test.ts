import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { HtmlValidate } from 'html-validate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
let folder: string;

/** Builds a site; what it said against it. */
function build(from: string, to: string): string {
  const { stderr } = spawnSync(process.execPath, ['tools/site/build.mjs', '--from', from, '--to', to], { cwd: root, encoding: 'utf8' });
  return stderr;
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-site-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the documentation site', () => {
  let pages: Map<string, string>;
  const idsOf = (page: string): Set<string> => new Set([...(pages.get(page) ?? '').matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id));
  const hrefsOf = (html: string): string[] => [...html.matchAll(/ href="([^"]*)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));

  beforeAll(() => {
    expect(build('docs', join(folder, 'site'))).toBe('');
    const names = readdirSync(join(folder, 'site'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));
    pages = new Map(names.map((name) => [name, readFileSync(join(folder, 'site', name), 'utf8')]));
  });

  it('has a page for each file of docs/', () => {
    const sources = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
    expect([...pages.keys()].sort()).toEqual(sources.map((name) => name.replace(/\.md$/, '.html')).sort());
  });

  it('leads nowhere where there is nothing, with each link and anchor', () => {
    const dead = [...pages].flatMap(([page, html]) =>
      hrefsOf(html)
        .filter((href) => {
          if (/^(https?|mailto):/.test(href)) return false;
          const [path = '', anchor] = href.split('#');
          const target = path === '' ? page : posix.normalize(posix.join(posix.dirname(page), path));
          return !existsSync(join(folder, 'site', target)) || (anchor !== undefined && !idsOf(target).has(anchor));
        })
        .map((href) => `${page}: ${href}`),
    );
    expect(dead).toEqual([]);
  });

  it('can be reached everywhere from everywhere', () => {
    for (const [page, html] of pages) {
      const navigation = /<header>.*?<\/header>/s.exec(html)?.[0] ?? '';
      const reached = hrefsOf(navigation).map((href) => posix.normalize(posix.join(posix.dirname(page), href)));
      expect(reached.sort(), page).toEqual([...pages.keys()].sort());
    }
  });

  it('is valid HTML, for those who see it and those who hear it, without any script', () => {
    const validator = new HtmlValidate({
      extends: ['html-validate:recommended'],
      rules: { 'no-trailing-whitespace': 'off', 'long-title': 'off' },
    });
    const said = [...pages].flatMap(([page, html]) =>
      validator
        .validateStringSync(html)
        .results.flatMap(({ messages }) => messages.map(({ line, ruleId, message }) => `${page}:${line}: ${ruleId}: ${message}`)),
    );
    expect(said).toEqual([]);
    for (const [page, html] of pages) expect(html, page).not.toMatch(/<script|javascript:| on\w+=/i);
  });

  it('prints commands of this repository that there are', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
    const named = [...pages.values()].flatMap((html) => [...html.matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name));
    expect(named.length).toBeGreaterThan(0);
    for (const name of named) expect(Object.keys(scripts)).toContain(name);
  });
});

describe('building the documentation site', () => {
  const faulty: [string, Record<string, string>, string][] = [
    ['dead link', { 'index.md': '# A\n\n[b](b.md)' }, 'index.md: b.md: there is no such file'],
    ['dead anchor', { 'index.md': '# A\n\n[b](#b)' }, 'index.md: #b: index.md has no heading "b"'],
    ['page that nobody finds', { 'index.md': '# A', 'lost.md': '# Lost' }, 'lost.md: index.md has no link to it'],
  ];

  it.each(faulty)('stops at a %s and writes nothing', (name, files, said) => {
    const from = join(folder, name);
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(from, file)), { recursive: true });
      writeFileSync(join(from, file), text);
    }
    expect(build(from, `${from}-site`).trim()).toBe(said);
    expect(existsSync(`${from}-site`)).toBe(false);
  });

  it('takes HTML in Markdown as text, and links to files outside docs/ as their text', () => {
    const from = join(folder, 'plain/docs');
    mkdirSync(from, { recursive: true });
    cpSync(join(root, 'LICENSE'), join(folder, 'plain/LICENSE'));
    writeFileSync(join(from, 'index.md'), '# A\n\n<script>x</script> [the licence](../LICENSE)');
    expect(build(from, join(folder, 'plain-site'))).toBe('');
    const html = readFileSync(join(folder, 'plain-site/index.html'), 'utf8');
    expect(html).toContain('&lt;script&gt;');
    expect(html).toContain('<span>the licence</span>');
  });
});
