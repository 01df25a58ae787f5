import { InputError } from '../rules/inputs.js';
import { largestFile } from '../rules/load.js';
import type { Change, Parts, RulesRepository, StoredSet, Written } from '../rules/repository.js';
import { readAt, readCurrent, readDiff, readHistory } from './rules-reading.js';
import { writeVersion, type Memory, type Planned } from './rules-writing.js';
import type { Writing } from './writing.js';

/** A rule or block, as JSON, is at most so long in characters: a mistake else, and each server has all of them in memory. */
const longestBody = 65_536;

/** As JSON keeps it, so that what is compiled is what is stored. */
function plain(field: string, body: unknown, longest = longestBody): unknown {
  let text: string | undefined;
  try {
    text = JSON.stringify(body);
  } catch (error) {
    throw new InputError(field, `cannot be written as JSON (${(error as Error).message})`);
  }
  if (text === undefined) throw new InputError(field, 'expected fields with values; got undefined');
  if (text.length > longest) throw new InputError(field, `is ${text.length} characters long as JSON; at most ${longest}`);
  return JSON.parse(text);
}

function changed(current: StoredSet, { put = {}, remove = [], blocks = {} }: Change): Parts {
  const next = { rules: new Map(current.rules), blocks: new Map(current.blocks) };
  for (const name of remove) {
    if (Object.hasOwn(put, name)) throw new InputError('remove', `rule ${JSON.stringify(name)} is also in "put"; say one of them`);
    if (!next.rules.delete(name)) throw new InputError('remove', `there is no rule ${JSON.stringify(name)}`);
  }
  for (const [name, body] of Object.entries(put)) next.rules.set(name, withoutName(plain(`put ${JSON.stringify(name)}`, body), name));
  for (const [name, body] of Object.entries(blocks)) {
    if (body === null) next.blocks.delete(name);
    else next.blocks.set(name, plain(`blocks ${JSON.stringify(name)}`, body));
  }
  return next;
}

/** A rule may say its own name, as in a file; it is stored once. */
function withoutName(body: unknown, name: string): unknown {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, 'name')) return body;
  const { name: own, ...rest } = body as { name: unknown };
  return own === name ? rest : body;
}

/** What of a rules file's value can be taken apart; the rest is an InputError, as it has no place to be stored in. */
function partsOfFile(file: unknown): Parts {
  const { version, rules, ...blocks } = (plain('file', file, largestFile) ?? {}) as Record<string, unknown>;
  if (version !== 1) throw new InputError('file', `version: this Headgate reads version 1; got ${JSON.stringify(version) ?? 'none'}`);
  if (!Array.isArray(rules)) throw new InputError('file', 'rules: expected a list of rules');
  const byName = new Map<string, unknown>();
  for (const [index, rule] of (rules as unknown[]).entries()) {
    const name = typeof rule === 'object' && rule !== null && Object.hasOwn(rule, 'name') ? (rule as { name: unknown }).name : undefined;
    if (typeof name !== 'string') throw new InputError('file', `rules: number ${index + 1} has no name`);
    if (byName.has(name)) throw new InputError('file', `rules: number ${index + 1} has the name ${JSON.stringify(name)} of one before it`);
    byName.set(name, withoutName(plain(`file, rule ${JSON.stringify(name)}`, rule), name));
  }
  return { rules: byName, blocks: new Map(Object.entries(blocks)) };
}

/** The repository over either database. */
export function rulesRepository(writing: Writing): RulesRepository {
  const { db } = writing;
  const memory: Memory = {};
  const write = (planned: Planned): Promise<Written> => writeVersion(writing, memory, planned);
  return {
    async edition() {
      const row = await db.selectFrom('editions').select('edition').where('topic', '=', 'rules').executeTakeFirst();
      return row?.edition ?? 0;
    },
    current: () => readCurrent(db),
    at: (version) => readAt(db, version),
    history: (page) => readHistory(db, page),
    diff: (from, to) => readDiff(db, from, to),
    change: (change) => write({ ...change, kind: 'change', next: (current) => changed(current, change) }),
    rollback: ({ to, ...edit }) => write({ ...edit, kind: 'rollback', restores: to, next: () => readAt(db, to) }),
    importAll: ({ file, ...edit }) => write({ ...edit, kind: 'import', next: () => partsOfFile(file) }),
  };
}
