import { sql, type Kysely, type RawBuilder, type SelectQueryBuilder, type SqlBool } from 'kysely';
import { checkText, checkWhole } from '../rules/inputs.js';
import { NoVersionError, type Difference, type HistoryPage, type Parts, type StoredSet, type Version } from '../rules/repository.js';
import { breathe, inSlices } from '../rules/slices.js';
import { differencesOf } from '../rules/stored-set.js';
import { comesAfter } from './ending.js';
import type { EntryRow, Tables, VersionRow } from './tables.js';

/** What was written by hand may be no JSON: then it is the text, which no rule can be, and so a fault of that rule alone. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

function partsOf(rows: readonly Pick<EntryRow, 'kind' | 'name' | 'body'>[]): Parts {
  const of = (kind: EntryRow['kind']) => new Map(rows.filter((row) => row.kind === kind).map(({ name, body }) => [name, parsed(body)]));
  return { rules: of('rule'), blocks: of('block') };
}

interface SetRow {
  readonly edition: number;
  readonly version: number;
  readonly kind: EntryRow['kind'] | null;
  readonly name: string | null;
  readonly body: string | null;
}

const isEntry = (row: SetRow): row is SetRow & EntryRow => row.kind !== null;

/** In one statement, so that version, edition and entries are of one moment whoever writes; `inSet` says which entries. */
async function readAtAStroke(db: Kysely<Tables>, inSet: RawBuilder<SqlBool>): Promise<StoredSet> {
  const { rows } = await sql<SetRow>`
    select editions.edition, (select coalesce(max(number), 0) from versions) as version, entries.kind, entries.name, entries.body
    from editions left join entries on ${inSet} where editions.topic = 'rules'`.execute(db);
  const [{ edition, version } = { edition: 0, version: 0 }] = rows;
  return { version, edition, ...partsOf(rows.filter(isEntry)) };
}

/** Entries that are read at a time: SQLite's driver answers nobody meanwhile. */
const pageSize = 500;

/** Page by page, giving the event loop back. */
async function readPages(db: Kysely<Tables>, inSet: RawBuilder<SqlBool>): Promise<Parts> {
  const parts = { rules: new Map<string, unknown>(), blocks: new Map<string, unknown>() };
  let query = db.selectFrom('entries').select(['kind', 'name', 'body']).where(inSet).orderBy('kind').orderBy('name').limit(pageSize);
  const first = query;
  for (;;) {
    const page = await query.execute();
    for (const { kind, name, body } of page) (kind === 'rule' ? parts.rules : parts.blocks).set(name, parsed(body));
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return parts;
    query = first.where(comesAfter(['kind', 'name'], [last.kind, last.name]));
    await breathe();
  }
}

async function readMoment(db: Kysely<Tables>): Promise<Pick<StoredSet, 'edition' | 'version'>> {
  const { rows } = await sql<Pick<StoredSet, 'edition' | 'version'>>`
    select edition, (select coalesce(max(number), 0) from versions) as version from editions where topic = 'rules'`.execute(db);
  return rows[0] ?? { edition: 0, version: 0 };
}

/** How often pages are read where somebody writes meanwhile, which moves the edition. */
const mostReadings = 3;

async function readSet(db: Kysely<Tables>, inSet: RawBuilder<SqlBool>): Promise<StoredSet> {
  for (let reading = 0; reading < mostReadings; reading += 1) {
    const { edition } = await readMoment(db);
    const parts = await readPages(db, inSet);
    const moment = await readMoment(db);
    if (moment.edition === edition) return { ...moment, ...parts };
  }
  return readAtAStroke(db, inSet);
}

export const readCurrent = (db: Kysely<Tables>): Promise<StoredSet> => readSet(db, sql<SqlBool>`entries.until is null`);

export async function readNewest(db: Kysely<Tables>): Promise<number> {
  const row = await db
    .selectFrom('versions')
    .select(({ fn }) => fn.max('number').as('number'))
    .executeTakeFirst();
  return row?.number ?? 0;
}

async function assertVersion(db: Kysely<Tables>, version: number): Promise<void> {
  const newest = await readNewest(db);
  if (!Number.isInteger(version) || version < 0 || version > newest) throw new NoVersionError(version, newest);
}

export async function readAt(db: Kysely<Tables>, version: number): Promise<StoredSet> {
  await assertVersion(db, version);
  const set = await readSet(db, sql<SqlBool>`(entries.since <= ${version} and (entries.until is null or entries.until > ${version}))`);
  return { ...set, version };
}

/** Reads only what came or went between the two: each entry that differs has such a row on either side. */
export async function readDiff(db: Kysely<Tables>, from: number, to: number): Promise<Difference[]> {
  await assertVersion(db, from);
  await assertVersion(db, to);
  const [first, last] = from < to ? [from, to] : [to, from];
  const rows = await db
    .selectFrom('entries')
    .selectAll()
    .where((eb) =>
      eb.or([eb.and([eb('since', '>', first), eb('since', '<=', last)]), eb.and([eb('until', '>', first), eb('until', '<=', last)])]),
    )
    .execute();
  const at = (version: number): Parts =>
    partsOf(rows.filter(({ since, until }) => since <= version && (until === null || until > version)));
  return inSlices(differencesOf(at(from), at(to)));
}

const versionOf = ({ restores, summary, ...row }: VersionRow): Version => ({
  ...row,
  ...(restores === null ? undefined : { restores }),
  ...(JSON.parse(summary) as Pick<Version, 'touched' | 'count'>),
});

type Versions = SelectQueryBuilder<Tables, 'versions', VersionRow>;

export async function readHistory(db: Kysely<Tables>, { limit, before, rule }: HistoryPage): Promise<Version[]> {
  let query: Versions = db
    .selectFrom('versions')
    .selectAll()
    .orderBy('number', 'desc')
    .limit(checkWhole('limit', limit, [1, 200]));
  if (before !== undefined) query = query.where('number', '<', checkWhole('before', before, [0, Number.MAX_SAFE_INTEGER]));
  if (rule !== undefined) {
    const name = checkText('rule', rule, [1, 128]);
    query = query.where((eb) => {
      const of = eb.selectFrom('entries').where('kind', '=', 'rule').where('name', '=', name);
      return eb(
        'number',
        'in',
        of.select('since as number').union(of.select('until as number').where('until', 'is not', null).$castTo<{ number: number }>()),
      );
    });
  }
  return (await query.execute()).map(versionOf);
}
