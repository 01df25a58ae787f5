import type { clientSettings } from '../../settings/client.js';
import type { databaseSetting } from '../../settings/serve.js';
import type { Setting, ValuesOf } from '../../settings/setting.js';
import type { Work } from '../command.js';
import { lookOf, out, outJson } from '../out.js';
import { rulesFrom, type Known } from '../rule-parts.js';
import { rulesYaml } from '../rules-yaml.js';
import { table, type Cell } from '../table.js';
import { showTime } from '../time.js';

type Settings = typeof clientSettings & { readonly database: typeof databaseSetting; readonly version: Setting<number | undefined> };

const known = (file: string | undefined, { database, version, ...service }: ValuesOf<Settings>): Promise<Known> =>
  rulesFrom({ file, database, version, service });

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): [string, unknown][] => Object.entries((value ?? {}) as Fields);

const short = (value: unknown): string =>
  Array.isArray(value) ? value.map(short).join(', ') : typeof value === 'object' && value !== null ? pairs(value) : String(value);

const pairs = (value: unknown): string =>
  fieldsOf(value)
    .map(([name, one]) => `${name} ${short(one)}`)
    .join(', ');

const limitText = (limit: unknown): string => fieldsOf(limit).map(([kind, numbers]) => `${kind} ${pairs(numbers)}`.trim())[0] ?? '';

function stateOf(name: string, rule: Fields, { shadows }: Known): Cell {
  const set = shadows.find((one) => one.rule === name) ?? shadows.find((one) => one.rule === '*');
  const observes = set?.on ?? rule['shadow'] === true;
  const text = observes ? 'only observes' : 'in force';
  return { text: set === undefined ? text : `${text} (switched)`, color: observes ? 'yellow' : 'green' };
}

const columns = [{ title: 'RULE' }, { title: 'LIMIT' }, { title: 'KEY' }, { title: 'MATCH' }, { title: 'PLANS' }, { title: 'STATE' }];

function row(name: string, rule: Fields, all: Known): (string | Cell)[] {
  const plans = fieldsOf(rule['plans']).map(([plan]) => plan);
  return [name, limitText(rule['limit']), short(rule['key'] ?? ''), pairs(rule['match']), plans.join(', '), stateOf(name, rule, all)];
}

export const list: Work<Settings & { readonly json: Setting<boolean> }> = async ({ operands: [file], values: { json, ...values } }) => {
  const all = await known(file, values);
  const { version, made, shadows, rules, blocks } = all;
  const named = [...rules].sort(([a], [b]) => (a < b ? -1 : 1));
  if (json) {
    outJson({ version: version ?? null, rules: Object.fromEntries(named), blocks: Object.fromEntries(blocks), shadows });
    return;
  }
  if (named.length === 0) out('there are no rules; headgate rules import FILE puts some in');
  else
    out(
      table(
        columns,
        named.map(([name, rule]) => row(name, (rule ?? {}) as Fields, all)),
        lookOf(),
      ),
    );
  if (version !== undefined && made !== undefined) out(`\nversion ${version}, by ${made.author} at ${showTime(made.at)}`);
};

export const exportRules: Work<Settings> = async ({ operands: [file], values }) => {
  process.stdout.write(rulesYaml(await known(file, values)));
};
