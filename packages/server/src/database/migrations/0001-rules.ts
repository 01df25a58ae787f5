import type { Migration } from './migration.js';

/**
 * Versions, and what is in the sets by version. An entry has a row for each body it ever had: a change of one rule among thousands
 * writes one row, and the set at any version is one query.
 */
export const rules: Migration = {
  number: 1,
  name: 'rules',
  statements: ({ integer, counted, isJson, watched, prelude, options }) => [
    `create table editions (
  topic text primary key,
  edition ${integer} not null
)${options}`,
    `insert into editions (topic, edition) values ('rules', 0)`,
    `create table versions (
  number ${integer} primary key check (number > 0),
  author text not null,
  at ${integer} not null,
  reason text not null,
  kind text not null check (kind in ('change', 'rollback', 'import')),
  restores ${integer},
  summary text not null check (${isJson('summary')})
)${options}`,
    `create table entries (
  kind text not null check (kind in ('rule', 'block')),
  name text not null,
  body text not null check (${isJson('body')}),
  since ${integer} not null references versions (number),
  until ${integer} references versions (number) check (until > since),
  primary key (kind, name, since)
)${options}`,
    `create unique index entries_in_force on entries (kind, name) where until is null`,
    `create index entries_since on entries (since)`,
    `create index entries_until on entries (until) where until is not null`,
    `create table audit (
  id ${counted},
  at ${integer} not null,
  who text not null,
  what text not null,
  version ${integer},
  detail text not null check (${isJson('detail')})
)${options}`,
    ...prelude,
    ...watched('entries', 'rules'),
  ],
};
