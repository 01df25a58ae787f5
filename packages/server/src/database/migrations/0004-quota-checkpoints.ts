import type { Migration } from './migration.js';

/** What quotas had counted, for the day on which Redis has lost it. */
export const quotaCheckpoints: Migration = {
  number: 4,
  name: 'quota_checkpoints',
  statements: ({ integer, options }) => [
    `create table quota_checkpoints (
  rule text not null,
  key text not null,
  period_end ${integer} not null,
  used ${integer} not null,
  taken_at ${integer} not null,
  primary key (rule, key, period_end)
)${options}`,
    `create index quota_checkpoints_end on quota_checkpoints (period_end)`,
  ],
};
