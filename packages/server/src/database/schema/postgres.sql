create table headgate.audit (
  id bigint not null generated always as identity,
  at bigint not null,
  who text not null,
  what text not null,
  version bigint,
  detail text not null
);

create table headgate.editions (
  topic text not null,
  edition bigint not null
);

create table headgate.entries (
  kind text not null,
  name text not null,
  body text not null,
  since bigint not null,
  until bigint
);

create table headgate.exemptions (
  rule text not null,
  kind text not null,
  subject text not null,
  reason text not null,
  until bigint,
  set_by text not null,
  set_at bigint not null
);

create table headgate.migrations (
  number bigint not null,
  name text not null,
  applied_at bigint not null
);

create table headgate.overrides (
  rule text not null,
  customer text not null,
  body text not null,
  until bigint,
  set_by text not null,
  set_at bigint not null
);

create table headgate.plans (
  customer text not null,
  plan text not null,
  until bigint,
  set_by text not null,
  set_at bigint not null
);

create table headgate.quota_checkpoints (
  rule text not null,
  key text not null,
  period_end bigint not null,
  used bigint not null,
  taken_at bigint not null
);

create table headgate.shadows (
  rule text not null,
  is_on bigint not null,
  set_by text not null,
  set_at bigint not null
);

create table headgate.tokens (
  hash text not null,
  name text not null,
  role text not null,
  created_at bigint not null,
  created_by text not null,
  revoked_at bigint,
  revoked_by text
);

create table headgate.versions (
  number bigint not null,
  author text not null,
  at bigint not null,
  reason text not null,
  kind text not null,
  restores bigint,
  summary text not null
);

alter table headgate.audit add constraint audit_detail_check CHECK ((json_typeof((detail)::json) IS NOT NULL));

alter table headgate.audit add constraint audit_pkey PRIMARY KEY (id);

alter table headgate.editions add constraint editions_pkey PRIMARY KEY (topic);

alter table headgate.entries add constraint entries_body_check CHECK ((json_typeof((body)::json) IS NOT NULL));

alter table headgate.entries add constraint entries_check CHECK ((until > since));

alter table headgate.entries add constraint entries_kind_check CHECK ((kind = ANY (ARRAY['rule'::text, 'block'::text])));

alter table headgate.entries add constraint entries_pkey PRIMARY KEY (kind, name, since);

alter table headgate.entries add constraint entries_since_fkey FOREIGN KEY (since) REFERENCES headgate.versions(number);

alter table headgate.entries add constraint entries_until_fkey FOREIGN KEY (until) REFERENCES headgate.versions(number);

alter table headgate.exemptions add constraint exemptions_kind_check CHECK ((kind = ANY (ARRAY['key'::text, 'cidr'::text])));

alter table headgate.exemptions add constraint exemptions_pkey PRIMARY KEY (rule, kind, subject);

alter table headgate.migrations add constraint migrations_pkey PRIMARY KEY (number);

alter table headgate.overrides add constraint overrides_body_check CHECK ((json_typeof((body)::json) IS NOT NULL));

alter table headgate.overrides add constraint overrides_pkey PRIMARY KEY (rule, customer);

alter table headgate.plans add constraint plans_pkey PRIMARY KEY (customer);

alter table headgate.quota_checkpoints add constraint quota_checkpoints_pkey PRIMARY KEY (rule, key, period_end);

alter table headgate.shadows add constraint shadows_is_on_check CHECK ((is_on = ANY (ARRAY[(0)::bigint, (1)::bigint])));

alter table headgate.shadows add constraint shadows_pkey PRIMARY KEY (rule);

alter table headgate.tokens add constraint tokens_pkey PRIMARY KEY (hash);

alter table headgate.tokens add constraint tokens_role_check CHECK ((role = ANY (ARRAY['read'::text, 'operate'::text, 'edit'::text])));

alter table headgate.versions add constraint versions_kind_check CHECK ((kind = ANY (ARRAY['change'::text, 'rollback'::text, 'import'::text])));

alter table headgate.versions add constraint versions_number_check CHECK ((number > 0));

alter table headgate.versions add constraint versions_pkey PRIMARY KEY (number);

alter table headgate.versions add constraint versions_summary_check CHECK ((json_typeof((summary)::json) IS NOT NULL));

CREATE UNIQUE INDEX entries_in_force ON headgate.entries USING btree (kind, name) WHERE (until IS NULL);

CREATE INDEX entries_since ON headgate.entries USING btree (since);

CREATE INDEX entries_until ON headgate.entries USING btree (until) WHERE (until IS NOT NULL);

CREATE INDEX exemptions_until ON headgate.exemptions USING btree (until) WHERE (until IS NOT NULL);

CREATE INDEX overrides_until ON headgate.overrides USING btree (until) WHERE (until IS NOT NULL);

CREATE INDEX plans_until ON headgate.plans USING btree (until) WHERE (until IS NOT NULL);

CREATE INDEX quota_checkpoints_end ON headgate.quota_checkpoints USING btree (period_end);

CREATE UNIQUE INDEX tokens_name ON headgate.tokens USING btree (name) WHERE (revoked_at IS NULL);

CREATE OR REPLACE FUNCTION headgate.touched()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  execute format('update %I.editions set edition = edition + 1 where topic = $1', tg_table_schema) using tg_argv[0];
  perform pg_notify('headgate', tg_table_schema || '.' || tg_argv[0]);
  return null;
end
$function$;

CREATE TRIGGER entries_touched AFTER INSERT OR DELETE OR UPDATE OR TRUNCATE ON headgate.entries FOR EACH STATEMENT EXECUTE FUNCTION headgate.touched('rules');

CREATE TRIGGER exemptions_touched AFTER INSERT OR DELETE OR UPDATE OR TRUNCATE ON headgate.exemptions FOR EACH STATEMENT EXECUTE FUNCTION headgate.touched('exemptions');

CREATE TRIGGER overrides_touched AFTER INSERT OR DELETE OR UPDATE OR TRUNCATE ON headgate.overrides FOR EACH STATEMENT EXECUTE FUNCTION headgate.touched('overrides');

CREATE TRIGGER plans_touched AFTER INSERT OR DELETE OR UPDATE OR TRUNCATE ON headgate.plans FOR EACH STATEMENT EXECUTE FUNCTION headgate.touched('plans');

CREATE TRIGGER shadows_touched AFTER INSERT OR DELETE OR UPDATE OR TRUNCATE ON headgate.shadows FOR EACH STATEMENT EXECUTE FUNCTION headgate.touched('shadows');
