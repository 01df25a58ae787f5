import type { Migration } from './migration.js';

/** What differs from the rules for some customers, some requests or some time. */
export const exceptions: Migration = {
  number: 2,
  name: 'exceptions',
  statements: ({ integer, isJson, watched, options }) => {
    const ending = (table: string): string => `create index ${table}_until on ${table} (until) where until is not null`;
    const written = `set_by text not null,
  set_at ${integer} not null`;
    return [
      `insert into editions (topic, edition) values ('plans', 0), ('overrides', 0), ('exemptions', 0), ('shadows', 0)`,
      `create table plans (
  customer text primary key,
  plan text not null,
  until ${integer},
  ${written}
)${options}`,
      ending('plans'),
      ...watched('plans', 'plans'),
      `create table overrides (
  rule text not null,
  customer text not null,
  body text not null check (${isJson('body')}),
  until ${integer},
  ${written},
  primary key (rule, customer)
)${options}`,
      ending('overrides'),
      ...watched('overrides', 'overrides'),
      `create table exemptions (
  rule text not null,
  kind text not null check (kind in ('key', 'cidr')),
  subject text not null,
  reason text not null,
  until ${integer},
  ${written},
  primary key (rule, kind, subject)
)${options}`,
      ending('exemptions'),
      ...watched('exemptions', 'exemptions'),
      `create table shadows (
  rule text primary key,
  is_on ${integer} not null check (is_on in (0, 1)),
  ${written}
)${options}`,
      ...watched('shadows', 'shadows'),
    ];
  },
};
