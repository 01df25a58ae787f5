import type { Generated } from 'kysely';

/** What has an edition: a number that moves with every write, by whomever, so that copies elsewhere know when to read again. */
export type Topic = 'rules' | 'plans' | 'overrides' | 'exemptions' | 'shadows';

/** A whole set has `number` in it from `since` on, until the version before `until`; null: it is in force. */
export interface EntryRow {
  readonly kind: 'rule' | 'block';
  readonly name: string;
  /** JSON. */
  readonly body: string;
  readonly since: number;
  readonly until: number | null;
}

export interface VersionRow {
  readonly number: number;
  readonly author: string;
  readonly at: number;
  readonly reason: string;
  readonly kind: 'change' | 'rollback' | 'import';
  /** The version that a rollback brought back. */
  readonly restores: number | null;
  /** JSON: how many entries it touched, and the first of them. */
  readonly summary: string;
}

/** Who wrote a row, and when (milliseconds since 1970). */
interface Written {
  readonly set_by: string;
  readonly set_at: number;
}

/** All tables, as both databases have them. Times are milliseconds since 1970. */
export interface Tables {
  migrations: { readonly number: number; readonly name: string; readonly applied_at: number };
  editions: { readonly topic: Topic; readonly edition: number };
  versions: VersionRow;
  entries: EntryRow;
  audit: {
    readonly id: Generated<number>;
    readonly at: number;
    readonly who: string;
    readonly what: string;
    readonly version: number | null;
    /** JSON. */
    readonly detail: string;
  };
  plans: Written & { readonly customer: string; readonly plan: string; readonly until: number | null };
  overrides: Written & { readonly rule: string; readonly customer: string; readonly body: string; readonly until: number | null };
  exemptions: Written & {
    readonly rule: string;
    readonly kind: 'key' | 'cidr';
    readonly subject: string;
    readonly reason: string;
    readonly until: number | null;
  };
  shadows: Written & { readonly rule: string; readonly is_on: 0 | 1 };
  tokens: {
    /** SHA-256 of the token, hexadecimal. */
    readonly hash: string;
    readonly name: string;
    readonly role: 'read' | 'operate' | 'edit';
    readonly created_at: number;
    readonly created_by: string;
    readonly revoked_at: number | null;
    readonly revoked_by: string | null;
  };
  quota_checkpoints: {
    readonly rule: string;
    readonly key: string;
    readonly period_end: number;
    readonly used: number;
    readonly taken_at: number;
  };
}
