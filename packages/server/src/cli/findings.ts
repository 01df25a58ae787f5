import type { Finding, Severity } from '../usecases/doctor/finding.js';
import { painted, type Color, type Look } from './out.js';

const colors: Record<Severity, Color> = { error: 'red', warning: 'yellow', unknown: 'magenta', info: 'cyan', ok: 'green' };

/** Breaks at spaces; a longer word, such as an address, stays whole, to be copied. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

interface Row extends Finding {
  readonly places: readonly string[];
}

const placeOf = ({ shard, node }: Finding): string | undefined =>
  shard === undefined || node === undefined ? (shard ?? node) : `${shard} (${node})`;

/** What is the same in several places is told once. */
function merged(findings: readonly Finding[]): Row[] {
  const rows = new Map<string, Row>();
  for (const finding of findings) {
    const { id, severity, found, why, mend } = finding;
    const same = JSON.stringify([id, severity, found, why, mend]);
    const place = placeOf(finding);
    const places = [...(rows.get(same)?.places ?? []), ...(place === undefined ? [] : [place])];
    rows.set(same, { ...finding, places });
  }
  return [...rows.values()];
}

/** Findings as a table: severity, id, and what there is to say, wrapped below each other. */
export function table(findings: readonly Finding[], { width, color }: Look): string {
  const rows = merged(findings);
  const told = findings.some(({ shard }) => shard !== undefined) || new Set(rows.flatMap(({ places }) => places)).size > 1;
  const idWidth = Math.max(...rows.map(({ id }) => id.length));
  const [severityWidth, gap] = ['warning'.length, '  '];
  const indent = severityWidth + gap.length + idWidth + gap.length;
  // On a narrow terminal what there is to say goes below.
  const narrow = width - indent < 30;
  const textWidth = Math.max(20, width - (narrow ? 4 : indent));
  return rows
    .map(({ id, severity, places, found, why, mend }) => {
      const where = told && places.length > 0 ? `${places.join(', ')}: ` : '';
      const texts = [where + found, ...(why === '' ? [] : [`Why: ${why}`]), ...(mend === '' ? [] : [`Mend: ${mend}`])];
      const lines = texts.flatMap((text) => wrap(text, textWidth));
      const head = painted(severity, colors[severity], { color }) + ' '.repeat(severityWidth - severity.length) + gap + id;
      if (narrow) return [head, ...lines.map((line) => `    ${line}`)].join('\n');
      const [first = '', ...others] = lines;
      return [`${head}${' '.repeat(idWidth - id.length)}${gap}${first}`, ...others.map((line) => ' '.repeat(indent) + line)].join('\n');
    })
    .join('\n');
}
