import type { By, Page } from './exceptions.js';

export const roles = ['read', 'operate', 'edit'] as const;

/** What a token may: look; also lift, ban and switch; also change rules. */
export type Role = (typeof roles)[number];

/** A token as it may be shown: without itself and its hash. */
export interface TokenInfo {
  readonly name: string;
  readonly role: Role;
  /** Milliseconds since 1970. */
  readonly created: number;
  readonly createdBy: string;
  /** Milliseconds since 1970; undefined: it holds. */
  readonly revoked?: number;
}

/**
 * Tokens of the API. Only hashes are stored: a token is shown once, to whom it is made for.
 *
 * @throws InputError, DatabaseError
 */
export interface TokensRepository {
  /** A new token of 256 random bits. Its name is of no other one that holds. */
  create(token: By & Pick<TokenInfo, 'name' | 'role'>): Promise<{ readonly token: string; readonly info: TokenInfo }>;
  /** Whose it is; undefined if it is none, or revoked. Takes as long for a wrong one as for a right one. */
  verify(token: string): Promise<TokenInfo | undefined>;
  /** All, also those revoked, the newest first. */
  list(): Promise<TokenInfo[]>;
  /** Whether any holds. */
  hasAny(): Promise<boolean>;
  /** Answers whether there was one that held. */
  revoke(which: By & Pick<TokenInfo, 'name'>): Promise<boolean>;
}

/** What a quota had counted for a key at some time. */
export interface QuotaCheckpoint {
  readonly rule: string;
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly periodEnd: number;
  readonly used: number;
  /** Milliseconds since 1970. */
  readonly takenAt: number;
}

/** @throws InputError, DatabaseError */
export interface CheckpointsRepository {
  /**
   * Saves any number, each if it is not older than the one that is there. Unless units came back (`lowered`) it never lowers that one: a
   * server that has seen less must not undo what another has seen. After an error some may be saved; save all of them again.
   */
  save(checkpoints: readonly (QuotaCheckpoint & { readonly lowered?: boolean })[]): Promise<void>;
  /** Those of any number of keys and periods, be these over: one for each, in order. */
  find(all: readonly Pick<QuotaCheckpoint, 'rule' | 'key' | 'periodEnd'>[]): Promise<(QuotaCheckpoint | undefined)[]>;
  /**
   * Of periods that have not ended; in the order of rules, keys and periods, from the one after `after` on. Keys of more than 512 characters,
   * or with a NUL, are told as hashes.
   */
  list(page: Page & { readonly after?: Pick<QuotaCheckpoint, 'rule' | 'key' | 'periodEnd'> }): Promise<QuotaCheckpoint[]>;
}

/** One write by somebody. */
export interface AuditEntry {
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly who: string;
  /** `rules.change`, `plan.set`, `token.revoke`, ... */
  readonly what: string;
  /** Of the rules, if it made one. */
  readonly version?: number;
  readonly detail: unknown;
}

/** Kept for ever: whoever has to cut it does so by hand. */
export interface AuditRepository {
  /** Records what was done elsewhere than in the database; what is done there is recorded with it. */
  add(act: By & { readonly what: string; readonly detail: object }): Promise<void>;
  /** The newest first, from the one before `before` on. */
  list(page: Page & { readonly before?: number; readonly who?: string }): Promise<AuditEntry[]>;
}
