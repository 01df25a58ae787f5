import type { Finding, Severity } from '../usecases/doctor/finding.js';

export interface Look {
  /** Columns of the terminal. */
  readonly width: number;
  readonly color: boolean;
}

const colors: Record<Severity, number> = { error: 31, warning: 33, unknown: 35, info: 36, ok: 32 };

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
      const painted = color ? `\u001b[${colors[severity]}m${severity}\u001b[0m` : severity;
      const head = painted + ' '.repeat(severityWidth - severity.length) + gap + id;
      if (narrow) return [head, ...lines.map((line) => `    ${line}`)].join('\n');
      const [first = '', ...others] = lines;
      return [`${head}${' '.repeat(idWidth - id.length)}${gap}${first}`, ...others.map((line) => ' '.repeat(indent) + line)].join('\n');
    })
    .join('\n');
}
