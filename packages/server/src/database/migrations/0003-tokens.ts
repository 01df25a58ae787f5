import type { Migration } from './migration.js';

/** Who may call the API. Of a token only its hash is kept. A name is of one token that holds, and may be given again. */
export const tokens: Migration = {
  number: 3,
  name: 'tokens',
  statements: ({ integer, options }) => [
    `create table tokens (
  hash text primary key,
  name text not null,
  role text not null check (role in ('read', 'operate', 'edit')),
  created_at ${integer} not null,
  created_by text not null,
  revoked_at ${integer},
  revoked_by text
)${options}`,
    `create unique index tokens_name on tokens (name) where revoked_at is null`,
  ],
};
