import { parse } from 'yaml';
import { SettingError } from '../../config.js';
import { loadRules } from '../../rules/load.js';
import { touchedText, type Difference } from '../../rules/repository.js';
import { canonical } from '../../rules/stored-set.js';
import type { readingSettings, reasonSetting, writingSettings } from '../../settings/database.js';
import type { Setting } from '../../settings/setting.js';
import type { Work } from '../command.js';
import { inDatabase } from '../in-database.js';
import { lookOf, out, outJson, painted, visible, type Color, type Look } from '../out.js';
import { readText } from '../read-text.js';
import { table } from '../table.js';
import { showTime } from '../time.js';

type Reading = typeof readingSettings & { readonly json: Setting<boolean> };
type Writing = typeof writingSettings & { readonly reason: typeof reasonSetting };

export const importRules: Work<Writing> = async ({ operands: [file = ''], values }) => {
  const text = await readText(file);
  // For its faults with their lines.
  loadRules(file, text);
  const { author, reason } = values;
  await inDatabase(values, async ({ rules }) => {
    const { version: base } = await rules.current();
    const { version, differences } = await rules.importAll({ base, author, reason, file: parse(text) });
    out(
      version === base ? `nothing differs from version ${base}` : `version ${version}: ${differences.length} entries differ from ${base}`,
    );
  });
};

const columns = [{ title: 'VERSION', right: true }, { title: 'WHEN' }, { title: 'BY' }, { title: 'WHAT' }, { title: 'WHY' }] as const;

export const history: Work<Reading & { readonly limit: Setting<number> }> = ({ values }) =>
  inDatabase(values, async ({ rules }) => {
    const versions = await rules.history({ limit: values.limit });
    if (values.json) outJson({ versions: versions.map(({ at, ...version }) => ({ ...version, at: new Date(at).toISOString() })) });
    else if (versions.length === 0) out('nothing was ever stored; headgate rules import FILE makes version 1');
    else {
      const rows = versions.map((version) => {
        const { number, at, author, kind, restores, reason } = version;
        const what = kind === 'rollback' ? `back to ${restores ?? 0}: ${touchedText(version)}` : touchedText(version);
        return [String(number), showTime(at), author, what, reason];
      });
      out(table(columns, rows, lookOf()));
    }
  });

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

const line = (sign: '-' | '+', told: string, look: Look): string =>
  painted(visible(`  ${sign} ${told}`), sign === '-' ? 'red' : 'green', look);

/** A line for each field that differs; of an entry that is no fields, or is new or gone, for all of it. */
function showDifference({ kind, name, before, after }: Difference, look: Look): string {
  const did = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
  const colors: Record<typeof did, Color> = { added: 'green', removed: 'red', changed: 'yellow' };
  const head = `${painted(visible(`${kind} ${JSON.stringify(name)}`), 'bold', look)} ${painted(did, colors[did], look)}`;
  const fields = (value: unknown): Map<string, string> =>
    new Map(
      isRecord(value)
        ? Object.entries(value).map(([field, one]) => [`${field}: `, canonical(one)])
        : value === undefined
          ? []
          : [['', canonical(value)]],
    );
  const [old, now] = [fields(before), fields(after)];
  const lines = [...new Set([...old.keys(), ...now.keys()])].sort().flatMap((field) => {
    const [was, is] = [old.get(field), now.get(field)];
    if (was === is) return [];
    return [...(was === undefined ? [] : [line('-', field + was, look)]), ...(is === undefined ? [] : [line('+', field + is, look)])];
  });
  return [head, ...lines].join('\n');
}

function versionOf(text: string | undefined): number {
  if (text !== undefined && /^\d{1,15}$/.test(text)) return Number(text);
  throw new SettingError(`expected the number of a version, as headgate rules history tells; got ${JSON.stringify(text)}`);
}

export const diff: Work<Reading> = ({ operands: [a, b], values }) => {
  const [from, to] = [versionOf(a), versionOf(b)];
  return inDatabase(values, async ({ rules }) => {
    const differences = await rules.diff(from, to);
    if (values.json)
      outJson({ from, to, differences: differences.map(({ before = null, after = null, ...rest }) => ({ ...rest, before, after })) });
    else for (const difference of differences) out(showDifference(difference, lookOf()));
  });
};

export const rollback: Work<Writing> = ({ operands: [version], values }) => {
  const to = versionOf(version);
  return inDatabase(values, async ({ rules }) => {
    const { version: base } = await rules.current();
    const { version: made } = await rules.rollback({ to, base, author: values.author, reason: values.reason });
    out(made === base ? `version ${base} is the same as ${to}` : `version ${made}: as it was at ${to}`);
  });
};
