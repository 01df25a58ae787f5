import { escape } from './markdown.mjs';

const link = (href, text, attributes = '') => `<a href="${escape(href)}"${attributes}>${escape(text)}</a>`;

function groupHtml({ title, pages }, current, linkTo) {
  const items = pages.map(
    ({ file, title: text }) => `<li>${link(linkTo(file), text, file === current ? ' aria-current="page"' : '')}</li>`,
  );
  return `<p>${escape(title)}</p>\n<ul>\n${items.join('\n')}\n</ul>`;
}

/** What is on a page, where there is enough to choose from. */
function contents(headings) {
  const parts = headings.filter(({ level }) => level === 2);
  if (parts.length < 3) return '';
  const items = parts.map(({ id, text }) => `<li>${link(`#${id}`, text)}</li>`);
  return `<nav class="contents" aria-label="On this page">\n<p>On this page</p>\n<ul>\n${items.join('\n')}\n</ul>\n</nav>`;
}

/** A whole page: no script, and everything in the order in which it is read aloud. */
export function pageHtml({ page, body, groups, linkTo, before, after }) {
  const home = link(linkTo('index.md'), 'Headgate', page.file === 'index.md' ? ' aria-current="page"' : '');
  const title = page.file === 'index.md' ? page.title : `${page.title} - Headgate`;
  const turns = [
    before === undefined ? '' : link(linkTo(before.file), `Before: ${before.title}`, ' rel="prev"'),
    after === undefined ? '' : link(linkTo(after.file), `Next: ${after.title}`, ' rel="next"'),
  ].filter((turn) => turn !== '');
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(title)}</title>
<link rel="stylesheet" href="${escape(linkTo('style.css'))}">
</head>
<body>
<a class="skip" href="#content">To the text</a>
<header>
<nav aria-label="All pages">
<p class="home">${home}</p>
${groups.map((group) => groupHtml(group, page.file, linkTo)).join('\n')}
</nav>
</header>
<main id="content">
${contents(page.headings)}
${body}
<nav class="turns" aria-label="Before and next">
${turns.join('\n')}
</nav>
</main>
</body>
</html>
`;
}
