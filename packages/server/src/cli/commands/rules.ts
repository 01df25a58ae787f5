import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { readRulesConfig, SettingError, type RulesConfig } from '../../config.js';
import { openDatabase, type Database } from '../../database/open.js';
import { loadRules } from '../../rules/load.js';
import { showVersion, type Difference } from '../../rules/repository.js';
import { orTell } from '../faults.js';

export const help = `headgate rules recipe [NAME]
headgate rules validate FILE
headgate rules import FILE    --database URL [--reason TEXT]
headgate rules history        --database URL [--limit 20]
headgate rules diff A B       --database URL
headgate rules rollback N     --database URL [--reason TEXT]
headgate rules shadow NAME|--all [--off|--clear] --database URL

  recipe     prints a ready-made set of rules; without a name, which there are
  validate   tells every fault of a rules file, each with its line and the mend
  import     replaces the rules in the database by those of a file, as one version
  history    what was changed, by whom and why, the newest first
  diff       what differs between two versions
  rollback   brings back what was in force at a version, as a new one
  shadow     has a rule only observe, in force within seconds; --off: refuse again; --clear: as the rule itself says

  --database URL   sqlite:PATH or postgres://...                    HEADGATE_DATABASE
  --author NAME    who does it; the user of the system by default   HEADGATE_AUTHOR

Ends with 78 if a setting or the rules are faulty, with 1 if the database cannot do it.
`;

const recipes = fileURLToPath(new URL('../../../rules/recipes/', import.meta.url));

const out = (text: string): void => void process.stdout.write(`${text}\n`);

async function recipe([name]: readonly string[]): Promise<void> {
  const names = (await readdir(recipes)).map((file) => file.replace(/\.yaml$/, '')).sort();
  if (name === undefined) out(names.join('\n'));
  else if (!names.includes(name)) throw new SettingError(`there is no recipe ${JSON.stringify(name)}; there are ${names.join(', ')}`);
  else process.stdout.write(await readFile(new URL(`../../../rules/recipes/${name}.yaml`, import.meta.url), 'utf8'));
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new SettingError(`${file}: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

async function validate([file = '']: readonly string[]): Promise<void> {
  const { rules, warnings } = loadRules(file, await read(file));
  for (const warning of warnings) out(`warning: ${warning}`);
  out(`${file}: ${rules.size} ${rules.size === 1 ? 'rule' : 'rules'}, no faults`);
}

const mark = (value: unknown, sign: string): string[] => (value === undefined ? [] : [`  ${sign} ${JSON.stringify(value)}`]);

const showDifference = ({ kind, name, before, after }: Difference): string =>
  [`${kind} ${JSON.stringify(name)}`, ...mark(before, '-'), ...mark(after, '+')].join('\n');

type Verb = (database: Database, config: RulesConfig) => Promise<void>;

const verbs: Record<string, { readonly operands: readonly [number, number]; readonly run: Verb }> = {
  import: {
    operands: [1, 1],
    async run({ rules }, { operands: [file = ''], author, reason }) {
      const text = await read(file);
      // For its faults with their lines.
      loadRules(file, text);
      const { version: base } = await rules.current();
      const { version, differences } = await rules.importAll({ base, author, reason, file: parse(text) });
      out(
        version === base ? `nothing differs from version ${base}` : `version ${version}: ${differences.length} entries differ from ${base}`,
      );
    },
  },
  history: {
    operands: [0, 0],
    async run({ rules }, { limit }) {
      for (const version of await rules.history({ limit })) out(`${new Date(version.at).toISOString()}  ${showVersion(version)}`);
    },
  },
  diff: {
    operands: [2, 2],
    async run({ rules }, { operands: [from, to] }) {
      for (const difference of await rules.diff(Number(from), Number(to))) out(showDifference(difference));
    },
  },
  rollback: {
    operands: [1, 1],
    async run({ rules }, { operands: [to], author, reason }) {
      const { version: base } = await rules.current();
      const { version } = await rules.rollback({ to: Number(to), base, author, reason });
      out(version === base ? `version ${base} is the same as ${to}` : `version ${version}: as it was at ${to}`);
    },
  },
  shadow: {
    operands: [0, 1],
    async run({ shadows }, { operands: [name], all, off, clear, author: by }) {
      if (all && name !== undefined) throw new SettingError('a rule or --all, not both');
      if (off && clear) throw new SettingError('--off or --clear, not both');
      const rule = all ? '*' : name;
      if (rule === undefined) throw new SettingError('which rule? headgate rules shadow NAME, or --all');
      if (clear) await shadows.remove({ by, rule });
      else await shadows.set({ by, rule, on: !off });
      const which = all ? 'all rules' : `rule ${JSON.stringify(rule)}`;
      out(clear ? `${which}: as the rules themselves say` : off ? `${which}: in force` : `${which}: only observing`);
    },
  },
};

async function inDatabase(name: string, args: readonly string[]): Promise<void> {
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (verb === undefined) throw new SettingError(`unknown: headgate rules ${name}; see headgate help rules`);
  const config = readRulesConfig(args, verb.operands);
  const database = openDatabase(config.database);
  try {
    await verb.run(database, config);
  } finally {
    await database.close();
  }
}

/** Answers the exit code. */
export function rules([name = '', ...args]: readonly string[]): Promise<number> {
  return orTell(() => {
    if (name === 'recipe') return recipe(args);
    return name === 'validate' ? validate(args) : inDatabase(name, args);
  });
}
