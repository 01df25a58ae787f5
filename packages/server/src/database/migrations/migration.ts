import type { Topic } from '../tables.js';

/** The words in which the two databases differ. */
export interface Words {
  /** Whole numbers up to 2^53. */
  readonly integer: string;
  /** A primary key that counts by itself. */
  readonly counted: string;
  /** Whether a text is JSON, as a check. */
  readonly isJson: (column: string) => string;
  /** Statements that make every write to a table move its topic's edition, and tell of it where the database can. */
  readonly watched: (table: string, topic: Topic) => readonly string[];
  /** Statements that `watched` relies on. */
  readonly prelude: readonly string[];
  /** What follows the columns of a table. */
  readonly options: string;
}

/** One step forward. It never changes once it is released: another one mends it. */
export interface Migration {
  /** From 1 on, without gaps. */
  readonly number: number;
  readonly name: string;
  readonly statements: (words: Words) => readonly string[];
}

const sqliteTrigger = (table: string, topic: Topic, event: 'insert' | 'update' | 'delete'): string =>
  `create trigger ${table}_${event} after ${event} on ${table} begin
  update editions set edition = edition + 1 where topic = '${topic}';
end`;

export const sqliteWords: Words = {
  integer: 'integer',
  counted: 'integer primary key autoincrement',
  isJson: (column) => `json_valid(${column})`,
  watched: (table, topic) => (['insert', 'update', 'delete'] as const).map((event) => sqliteTrigger(table, topic, event)),
  prelude: [],
  options: ' strict',
};

export const postgresWords: Words = {
  integer: 'bigint',
  counted: 'bigint generated always as identity primary key',
  isJson: (column) => `json_typeof(${column}::json) is not null`,
  watched: (table, topic) => [
    `create trigger ${table}_touched after insert or update or delete or truncate on ${table}
  for each statement execute function touched('${topic}')`,
  ],
  // By the table's own schema: whoever writes by hand has another search_path.
  prelude: [
    `create function touched() returns trigger language plpgsql as $$
begin
  execute format('update %I.editions set edition = edition + 1 where topic = $1', tg_table_schema) using tg_argv[0];
  perform pg_notify('headgate', tg_table_schema || '.' || tg_argv[0]);
  return null;
end
$$`,
  ],
  options: '',
};
