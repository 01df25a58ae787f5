// npm run docs:site [-- --from docs] [--to site] [--repository URL]: makes a static site of the Markdown in docs/. docs/index.md is the first page and
// the navigation: its headings of second level are the groups, the links below them the pages. With --repository, links to files outside docs/ lead there.
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { markdown, linksOf, readPage } from './markdown.mjs';
import { pageHtml } from './template.mjs';

const root = resolve(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: {
    from: { type: 'string', default: join(root, 'docs') },
    to: { type: 'string', default: join(root, 'site') },
    repository: { type: 'string' },
  },
});
const from = resolve(values.from);
const to = resolve(values.to);

const files = readdirSync(from, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => name.replaceAll('\\', '/'))
  .sort();
const pages = new Map(files.map((file) => [file, readPage(file, readFileSync(join(from, file), 'utf8'))]));
const faults = [];

const htmlOf = (file) => file.replace(/\.md$/, '.html');
const isOutside = (href) => /^[a-z][a-z+.-]*:/.test(href);

/** Where a link of a page leads on the site; undefined for a file that is not on it. What leads nowhere is a fault. */
function resolveLink(page, href) {
  if (isOutside(href)) return href;
  const [path, anchor] = href.split('#');
  const target = path === '' ? page.file : posix.normalize(posix.join(posix.dirname(page.file), path));
  const there = pages.get(target);
  if (there !== undefined) {
    if (anchor !== undefined && !there.anchors.has(anchor)) faults.push(`${page.file}: ${href}: ${target} has no heading "${anchor}"`);
    const relative = posix.relative(posix.dirname(page.file), htmlOf(target));
    return `${path === '' ? '' : relative}${anchor === undefined ? '' : `#${anchor}`}`;
  }
  const file = join(from, target);
  if (!existsSync(file)) faults.push(`${page.file}: ${href}: there is no such file`);
  const inRepository = posix.normalize(posix.join('docs', target));
  return values.repository === undefined ? undefined : `${values.repository.replace(/\/$/, '')}/blob/main/${inRepository}`;
}

/** Groups of pages, as the first page has them. */
function navigation() {
  const index = pages.get('index.md');
  if (index === undefined) throw new Error(`${from}: there is no index.md`);
  const listed = new Map();
  const seen = new Set(['index.md']);
  for (const { group, href } of linksOf(index)) {
    const file = posix.normalize(href.split('#')[0]);
    if (!pages.has(file) || seen.has(file)) continue;
    seen.add(file);
    listed.set(group, [...(listed.get(group) ?? []), { file, title: pages.get(file).title }]);
  }
  for (const file of files) if (!seen.has(file)) faults.push(`${file}: index.md has no link to it`);
  return [...listed].map(([title, members]) => ({ title, pages: members }));
}

const groups = navigation();
const order = ['index.md', ...groups.flatMap(({ pages: members }) => members.map(({ file }) => file))];
const written = [...pages.values()].map((page) => {
  const at = order.indexOf(page.file);
  const near = (step) => pages.get(order[at + step] ?? '');
  const body = markdown.render(page.text, { link: (href) => resolveLink(page, href) });
  const linkTo = (file) => posix.relative(posix.dirname(page.file), htmlOf(file));
  return [
    htmlOf(page.file),
    pageHtml({ page, body, groups, linkTo, before: at > 0 ? near(-1) : undefined, after: at >= 0 ? near(1) : undefined }),
  ];
});

if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exit(1);
}
rmSync(to, { recursive: true, force: true });
for (const [file, html] of written) {
  mkdirSync(dirname(join(to, file)), { recursive: true });
  writeFileSync(join(to, file), html);
}
cpSync(join(import.meta.dirname, 'style.css'), join(to, 'style.css'));
console.log(`${written.length} pages in ${values.to}`);
