import type { Kysely } from 'kysely';
import type { Tables } from './tables.js';

/** What every repository that writes works with. */
export interface Writing {
  readonly db: Kysely<Tables>;
  /** In errors. */
  readonly shown: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}
