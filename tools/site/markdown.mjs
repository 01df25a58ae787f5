import highlight from 'highlight.js/lib/common';
import nginx from 'highlight.js/lib/languages/nginx';
import MarkdownIt from 'markdown-it';

highlight.registerLanguage('nginx', nginx);

export const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Markdown as the docs use it, HTML in it is text. `env.link` says where a link leads; undefined: its text stays. */
export const markdown = new MarkdownIt({
  html: false,
  highlight: (code, language) =>
    highlight.getLanguage(language) === undefined ? escape(code) : highlight.highlight(code, { language, ignoreIllegals: true }).value,
});

/** The anchor that code hosts give a heading, so that a link holds there and here. */
const slugOf = (text) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');

const textOf = (inline) => inline.children.map(({ type, content }) => (type === 'text' || type === 'code_inline' ? content : '')).join('');

markdown.core.ruler.push('anchors', (state) => {
  const seen = new Map();
  for (const [index, token] of state.tokens.entries()) {
    if (token.type !== 'heading_open') continue;
    const slug = slugOf(textOf(state.tokens[index + 1]));
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    token.attrSet('id', times === 0 ? slug : `${slug}-${times}`);
  }
});

const { rules } = markdown.renderer;
rules.link_open = (tokens, index, options, env, self) => {
  const token = tokens[index];
  const href = env.link?.(token.attrGet('href'));
  if (href === undefined) {
    token.tag = 'span';
    token.attrs = null;
    const end = tokens.find(({ type }, at) => at > index && type === 'link_close');
    end.tag = 'span';
  } else token.attrSet('href', href);
  return self.renderToken(tokens, index, options);
};
// Wide tables scroll by themselves, also by keyboard.
rules.table_open = () => '<div class="table" tabindex="0"><table>';
rules.table_close = () => '</table></div>\n';
rules.th_open = () => '<th scope="col">';
rules.fence = (tokens, index, options) => {
  const { info, content } = tokens[index];
  const language = info.trim().split(/\s/)[0] ?? '';
  return `<pre tabindex="0"><code${language === '' ? '' : ` class="language-${escape(language)}"`}>${options.highlight(content, language)}</code></pre>\n`;
};

/** A page's title, anchors and headings. */
export function readPage(file, text) {
  const tokens = markdown.parse(text, {});
  const headings = tokens.flatMap((token, index) =>
    token.type === 'heading_open' ? [{ level: Number(token.tag.slice(1)), id: token.attrGet('id'), text: textOf(tokens[index + 1]) }] : [],
  );
  const title = headings.find(({ level }) => level === 1)?.text;
  if (title === undefined) throw new Error(`${file}: has no heading of first level`);
  return { file, text, tokens, title, headings, anchors: new Set(headings.map(({ id }) => id)) };
}

/** The links of a page, each with the heading of second level that it stands under. */
export function linksOf({ tokens }) {
  let group = '';
  return tokens.flatMap((token, index) => {
    if (token.type === 'heading_open' && token.tag === 'h2') group = textOf(tokens[index + 1]);
    const links = (token.children ?? []).filter(({ type }) => type === 'link_open');
    return links.map((link) => ({ group, href: link.attrGet('href') }));
  });
}
