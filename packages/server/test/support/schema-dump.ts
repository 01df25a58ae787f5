import type { TestDatabase } from './databases.js';

type Database = Pick<TestDatabase, 'byHand'>;

const whole = (statements: readonly unknown[]): string => `${statements.map((statement) => `${String(statement).trim()};`).join('\n\n')}\n`;

async function sqliteDump({ byHand }: Database): Promise<string> {
  const rows = await byHand(
    `select sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by tbl_name, type, name`,
  );
  return whole(rows.map(({ sql }) => sql));
}

/** What PostgreSQL says of itself: `pg_dump` differs between its minor versions. */
async function postgresDump({ byHand }: Database): Promise<string> {
  const tables = await byHand(`
    select c.relname, string_agg('  ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end
      || case a.attidentity when 'a' then ' generated always as identity' else '' end, E',\n' order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'headgate'::regnamespace and c.relkind = 'r' group by c.relname order by c.relname`);
  const constraints = await byHand(`
    select conrelid::regclass::text as of, conname, pg_get_constraintdef(oid) as is
    from pg_constraint where connamespace = 'headgate'::regnamespace order by conrelid::regclass::text, conname`);
  const indexes = await byHand(`
    select indexdef from pg_indexes i where schemaname = 'headgate'
      and not exists (select from pg_constraint where conname = i.indexname and connamespace = 'headgate'::regnamespace) order by indexname`);
  const functions = await byHand(
    `select pg_get_functiondef(oid) as is from pg_proc where pronamespace = 'headgate'::regnamespace order by proname`,
  );
  const triggers = await byHand(`
    select pg_get_triggerdef(oid) as is from pg_trigger where not tgisinternal
      and tgrelid in (select oid from pg_class where relnamespace = 'headgate'::regnamespace) order by tgname`);
  return whole([
    ...tables.map(({ relname, columns }) => `create table headgate.${relname} (\n${columns}\n)`),
    ...constraints.map(({ of, conname, is }) => `alter table ${of} add constraint ${conname} ${is}`),
    ...indexes.map(({ indexdef }) => indexdef),
    ...functions.map(({ is }) => is),
    ...triggers.map(({ is }) => is),
  ]);
}

/** What migrations made, as text. */
export const dumpOf = (kind: 'sqlite' | 'postgres', database: Database): Promise<string> =>
  kind === 'sqlite' ? sqliteDump(database) : postgresDump(database);
