import type { Kysely } from 'kysely';
import type { Exceptions, ExceptionsReader } from '../rules/exceptions.js';
import { holds } from './ending.js';
import { exemptionOf } from './exemptions.js';
import { overrideOf } from './overrides.js';
import { planOf } from './plans.js';
import { shadowOf } from './shadows.js';
import type { Tables, Topic } from './tables.js';

const topics: readonly Topic[] = ['plans', 'overrides', 'exemptions', 'shadows'];

/** Reads all that differs from the rules. The four are not of one moment, which nothing relies on: each write moves the edition again. */
export function exceptionsReader(db: Kysely<Tables>, now: () => number): ExceptionsReader {
  return {
    async edition() {
      const rows = await db.selectFrom('editions').select(['topic', 'edition']).where('topic', 'in', topics).orderBy('topic').execute();
      return rows.map(({ topic, edition }) => `${topic}=${edition}`).join(' ');
    },
    async all(): Promise<Exceptions> {
      const still = holds(now());
      return {
        plans: (await db.selectFrom('plans').selectAll().where(still).orderBy('customer').execute()).map(planOf),
        overrides: (await db.selectFrom('overrides').selectAll().where(still).orderBy('rule').orderBy('customer').execute()).map(
          overrideOf,
        ),
        exemptions: (await db.selectFrom('exemptions').selectAll().where(still).orderBy('rule').orderBy('subject').execute()).map(
          exemptionOf,
        ),
        shadows: (await db.selectFrom('shadows').selectAll().orderBy('rule').execute()).map(shadowOf),
      };
    },
  };
}
