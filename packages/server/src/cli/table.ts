import { painted, visible, type Color, type Look } from './out.js';

export interface Column {
  readonly title: string;
  /** Numbers stand at the right. */
  readonly right?: true;
}

export interface Cell {
  readonly text: string;
  readonly color?: Color;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Characters that take two places: those of East Asia (UAX 11, W and F), and pictures. */
const wide =
  /^(?:\p{Emoji_Presentation}|.\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}])/u;
const plain = /^[\x20-\x7e]*$/;

/** Places that a text takes on a terminal. */
export function displayWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += /^[\p{Mn}\p{Me}\p{Cf}]/u.test(segment) ? 0 : wide.test(segment) ? 2 : 1;
  return width;
}

/** Breaks at spaces, and within a word that is too long for a line. */
function broken(text: string, width: number): string[] {
  const lines = [''];
  const add = (piece: string): void => void (lines[lines.length - 1] = (lines.at(-1) ?? '') + piece);
  for (const word of text.split(/(?<= )/)) {
    const fits = displayWidth((lines.at(-1) ?? '') + word.trimEnd()) <= width;
    if (!fits && lines.at(-1) !== '') lines.push('');
    if (displayWidth(word.trimEnd()) <= width) {
      add(word);
      continue;
    }
    for (const { segment } of graphemes.segment(word)) {
      if (displayWidth((lines.at(-1) ?? '') + segment) > width) lines.push('');
      add(segment);
    }
  }
  return lines.map((line) => line.trimEnd());
}

const gap = 2;
/** Narrower columns cannot be read. */
const narrowest = 8;

/** Takes from the widest columns until all fit, or none can give more. */
function fitted(natural: readonly number[], width: number): number[] {
  const widths = [...natural];
  let over = widths.reduce((sum, one) => sum + one, gap * (widths.length - 1)) - width;
  while (over > 0 && Number.isFinite(over)) {
    const widest = Math.max(...widths);
    if (widest <= narrowest) break;
    widths[widths.indexOf(widest)] = widest - 1;
    over -= 1;
  }
  return widths;
}

/** Rows under their titles, in columns as wide as needed; on a terminal that is too narrow, texts go on below themselves. */
export function table(columns: readonly Column[], rows: readonly (readonly (string | Cell)[])[], look: Look): string {
  const head: Cell[] = columns.map(({ title }) => ({ text: title, color: 'bold' }));
  const cells = [head, ...rows.map((row) => row.map((cell) => (typeof cell === 'string' ? { text: cell } : cell)))].map((row) =>
    row.map((cell): Cell => ({ ...cell, text: visible(cell.text) })),
  );
  const natural = columns.map((_, index) => cells.reduce((most, row) => Math.max(most, displayWidth(row[index]?.text ?? '')), 0));
  const widths = fitted(natural, look.width);
  const place = (text: string, index: number): string => {
    const blank = ' '.repeat(Math.max(0, (widths[index] ?? 0) - displayWidth(text)));
    if (columns[index]?.right) return blank + text;
    return index === columns.length - 1 ? text : text + blank;
  };
  const lines = cells.flatMap((row) => {
    const texts = row.map(({ text }, index) => broken(text, widths[index] ?? 0));
    const height = Math.max(...texts.map(({ length }) => length));
    return Array.from({ length: height }, (_, line) =>
      row
        .map(({ color }, index) => {
          const text = place(texts[index]?.[line] ?? '', index);
          return color === undefined ? text : painted(text, color, look);
        })
        .join(' '.repeat(gap))
        .trimEnd(),
    );
  });
  return lines.join('\n');
}
