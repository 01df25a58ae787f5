import type { Insertable, Kysely, Transaction } from 'kysely';
import { checkText, lengths } from '../rules/inputs.js';
import {
  ConflictError,
  NoVersionError,
  type Difference,
  type Edit,
  type Parts,
  type StoredSet,
  type Touched,
  type Version,
  type Written,
} from '../rules/repository.js';
import { inSlices } from '../rules/slices.js';
import { checkStored, differencesOf } from '../rules/stored-set.js';
import type { KnownRules } from '../rules/compile.js';
import { recordAudit } from './audit.js';
import { DatabaseError } from './errors.js';
import { readCurrent, readHistory } from './rules-reading.js';
import type { Tables } from './tables.js';
import type { Writing } from './writing.js';

/** What a version keeps of what it touched. */
const mostTold = 20;

/** Rows in one statement: SQLite takes 32,766 parameters. */
const chunk = 500;

/** Writes by hand that may come between, before one of ours gives up. */
const mostAttempts = 5;

export interface Planned extends Edit {
  readonly kind: Version['kind'];
  readonly restores?: number;
  /** What is to be in force, from what is. */
  readonly next: (current: StoredSet) => Parts | Promise<Parts>;
}

/** What the last write compiled, so that the next compiles only what it changes. */
export interface Memory {
  known?: KnownRules;
}

function* chunks<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < all.length; start += chunk) yield all.slice(start, start + chunk);
}

function summaryOf(differences: readonly Difference[]): string {
  const touched = differences.slice(0, mostTold).map(({ kind, name, before, after }): Touched => {
    const did = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
    return { kind, name, did };
  });
  return JSON.stringify({ count: differences.length, touched } satisfies Pick<Version, 'count' | 'touched'>);
}

async function assertBase(db: Kysely<Tables>, base: number, current: number): Promise<void> {
  if (base === current) return;
  if (!Number.isInteger(base) || base < 0 || base > current) throw new NoVersionError(base, current);
  const since = await readHistory(db, { limit: Math.min(20, current - base) });
  throw new ConflictError({ base, current, since });
}

/** Closes the rows of what is no longer, opens those of what is. */
async function writeEntries(trx: Transaction<Tables>, version: number, differences: readonly Difference[]): Promise<void> {
  for (const kind of ['block', 'rule'] as const) {
    const gone = differences.filter((each) => each.kind === kind && each.before !== undefined).map(({ name }) => name);
    for (const names of chunks(gone)) {
      await trx
        .updateTable('entries')
        .set({ until: version })
        .where('kind', '=', kind)
        .where('name', 'in', names)
        .where('until', 'is', null)
        .execute();
    }
  }
  const come = differences.flatMap(({ kind, name, after }): Insertable<Tables['entries']>[] =>
    after === undefined ? [] : [{ kind, name, body: JSON.stringify(after), since: version, until: null }],
  );
  for (const rows of chunks(come))
    await trx
      .insertInto('entries')
      .values([...rows])
      .execute();
}

/**
 * Writes a version: decides what is to be in force, compiles all of it, and writes what differs, unless somebody wrote meanwhile.
 *
 * @throws ConflictError, RulesError, InputError, NoVersionError, DatabaseError; then nothing was written
 */
export async function writeVersion({ db, shown, now }: Writing, memory: Memory, planned: Planned): Promise<Written> {
  const { base, kind, restores, next } = planned;
  const author = checkText('author', planned.author, lengths.author);
  const reason = checkText('reason', planned.reason, lengths.reason);
  for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
    const current = await readCurrent(db);
    await assertBase(db, base, current.version);
    const wanted = await next(current);
    const { warnings, compiled } = await inSlices(checkStored(wanted, { from: 'rules', known: memory.known }));
    memory.known = compiled;
    const differences = await inSlices(differencesOf(current, wanted));
    if (differences.length === 0) return { version: base, differences, warnings };
    const version = base + 1;
    const isWritten = await db.transaction().execute(async (trx) => {
      // Whoever comes second waits here for the first, and then finds another edition than the one that was compiled.
      const { numUpdatedRows } = await trx
        .updateTable('editions')
        .set({ edition: current.edition + 1 })
        .where('topic', '=', 'rules')
        .where('edition', '=', current.edition)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) return false;
      const [at, summary] = [now(), summaryOf(differences)];
      await trx
        .insertInto('versions')
        .values({ number: version, author, at, reason, kind, restores: restores ?? null, summary })
        .execute();
      await writeEntries(trx, version, differences);
      await recordAudit(trx, { at, who: author, what: `rules.${kind}`, version, detail: { reason, restores } });
      return true;
    });
    if (isWritten) return { version, differences, warnings };
  }
  throw new DatabaseError('busy', `${shown}: somebody writes to the table of rules by hand all the time; try again`);
}
