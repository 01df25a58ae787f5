CREATE TABLE audit (
  id integer primary key autoincrement,
  at integer not null,
  who text not null,
  what text not null,
  version integer,
  detail text not null check (json_valid(detail))
) strict;

CREATE TABLE editions (
  topic text primary key,
  edition integer not null
) strict;

CREATE UNIQUE INDEX entries_in_force on entries (kind, name) where until is null;

CREATE INDEX entries_since on entries (since);

CREATE INDEX entries_until on entries (until) where until is not null;

CREATE TABLE entries (
  kind text not null check (kind in ('rule', 'block')),
  name text not null,
  body text not null check (json_valid(body)),
  since integer not null references versions (number),
  until integer references versions (number) check (until > since),
  primary key (kind, name, since)
) strict;

CREATE TRIGGER entries_delete after delete on entries begin
  update editions set edition = edition + 1 where topic = 'rules';
end;

CREATE TRIGGER entries_insert after insert on entries begin
  update editions set edition = edition + 1 where topic = 'rules';
end;

CREATE TRIGGER entries_update after update on entries begin
  update editions set edition = edition + 1 where topic = 'rules';
end;

CREATE INDEX exemptions_until on exemptions (until) where until is not null;

CREATE TABLE exemptions (
  rule text not null,
  kind text not null check (kind in ('key', 'cidr')),
  subject text not null,
  reason text not null,
  until integer,
  set_by text not null,
  set_at integer not null,
  primary key (rule, kind, subject)
) strict;

CREATE TRIGGER exemptions_delete after delete on exemptions begin
  update editions set edition = edition + 1 where topic = 'exemptions';
end;

CREATE TRIGGER exemptions_insert after insert on exemptions begin
  update editions set edition = edition + 1 where topic = 'exemptions';
end;

CREATE TRIGGER exemptions_update after update on exemptions begin
  update editions set edition = edition + 1 where topic = 'exemptions';
end;

CREATE TABLE migrations (
  number integer primary key,
  name text not null,
  applied_at integer not null
) strict;

CREATE INDEX overrides_until on overrides (until) where until is not null;

CREATE TABLE overrides (
  rule text not null,
  customer text not null,
  body text not null check (json_valid(body)),
  until integer,
  set_by text not null,
  set_at integer not null,
  primary key (rule, customer)
) strict;

CREATE TRIGGER overrides_delete after delete on overrides begin
  update editions set edition = edition + 1 where topic = 'overrides';
end;

CREATE TRIGGER overrides_insert after insert on overrides begin
  update editions set edition = edition + 1 where topic = 'overrides';
end;

CREATE TRIGGER overrides_update after update on overrides begin
  update editions set edition = edition + 1 where topic = 'overrides';
end;

CREATE INDEX plans_until on plans (until) where until is not null;

CREATE TABLE plans (
  customer text primary key,
  plan text not null,
  until integer,
  set_by text not null,
  set_at integer not null
) strict;

CREATE TRIGGER plans_delete after delete on plans begin
  update editions set edition = edition + 1 where topic = 'plans';
end;

CREATE TRIGGER plans_insert after insert on plans begin
  update editions set edition = edition + 1 where topic = 'plans';
end;

CREATE TRIGGER plans_update after update on plans begin
  update editions set edition = edition + 1 where topic = 'plans';
end;

CREATE INDEX quota_checkpoints_end on quota_checkpoints (period_end);

CREATE TABLE quota_checkpoints (
  rule text not null,
  key text not null,
  period_end integer not null,
  used integer not null,
  taken_at integer not null,
  primary key (rule, key, period_end)
) strict;

CREATE TABLE shadows (
  rule text primary key,
  is_on integer not null check (is_on in (0, 1)),
  set_by text not null,
  set_at integer not null
) strict;

CREATE TRIGGER shadows_delete after delete on shadows begin
  update editions set edition = edition + 1 where topic = 'shadows';
end;

CREATE TRIGGER shadows_insert after insert on shadows begin
  update editions set edition = edition + 1 where topic = 'shadows';
end;

CREATE TRIGGER shadows_update after update on shadows begin
  update editions set edition = edition + 1 where topic = 'shadows';
end;

CREATE UNIQUE INDEX tokens_name on tokens (name) where revoked_at is null;

CREATE TABLE tokens (
  hash text primary key,
  name text not null,
  role text not null check (role in ('read', 'operate', 'edit')),
  created_at integer not null,
  created_by text not null,
  revoked_at integer,
  revoked_by text
) strict;

CREATE TABLE versions (
  number integer primary key check (number > 0),
  author text not null,
  at integer not null,
  reason text not null,
  kind text not null check (kind in ('change', 'rollback', 'import')),
  restores integer,
  summary text not null check (json_valid(summary))
) strict;
