import { parse } from 'yaml';
import { loadRules } from '../../rules/load.js';
import { showVersion, type Difference } from '../../rules/repository.js';
import type { readingSettings, reasonSetting, writingSettings } from '../../settings/database.js';
import type { Setting } from '../../settings/setting.js';
import type { Work } from '../command.js';
import { inDatabase } from '../in-database.js';
import { out } from '../out.js';
import { readText } from './rules-files.js';

type Reading = typeof readingSettings;
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

export const history: Work<Reading & { readonly limit: Setting<number> }> = ({ values }) =>
  inDatabase(values, async ({ rules }) => {
    for (const version of await rules.history({ limit: values.limit }))
      out(`${new Date(version.at).toISOString()}  ${showVersion(version)}`);
  });

const mark = (value: unknown, sign: string): string[] => (value === undefined ? [] : [`  ${sign} ${JSON.stringify(value)}`]);

const showDifference = ({ kind, name, before, after }: Difference): string =>
  [`${kind} ${JSON.stringify(name)}`, ...mark(before, '-'), ...mark(after, '+')].join('\n');

export const diff: Work<Reading> = ({ operands: [from, to], values }) =>
  inDatabase(values, async ({ rules }) => {
    for (const difference of await rules.diff(Number(from), Number(to))) out(showDifference(difference));
  });

export const rollback: Work<Writing> = ({ operands: [to], values }) =>
  inDatabase(values, async ({ rules }) => {
    const { version: base } = await rules.current();
    const { version } = await rules.rollback({ to: Number(to), base, author: values.author, reason: values.reason });
    out(version === base ? `version ${base} is the same as ${to}` : `version ${version}: as it was at ${to}`);
  });
