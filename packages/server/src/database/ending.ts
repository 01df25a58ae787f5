import { sql, type RawBuilder, type SqlBool, type Transaction } from 'kysely';
import { InputError } from '../rules/inputs.js';
import type { Tables } from './tables.js';

/** Rows that each server has in memory, at most. */
export const mostRows = { plans: 100_000, overrides: 100_000, exemptions: 10_000 } as const;

/** Whether a row has not ended. */
export const holds = (now: number): RawBuilder<SqlBool> => sql<SqlBool>`(until is null or until > ${now})`;

/** After an insertion: more than servers can keep is taken back with the transaction. */
export async function assertRoom(trx: Transaction<Tables>, table: keyof typeof mostRows, mend: string): Promise<void> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(trx);
  if ((rows[0]?.count ?? 0) > mostRows[table])
    throw new InputError(table, `there are ${mostRows[table]} already, and no more are kept; ${mend}`);
}

/** Whether columns, as one, come after these values: where the next page begins. */
export const comesAfter = (columns: readonly string[], values: readonly (string | number)[]): RawBuilder<SqlBool> =>
  sql<SqlBool>`(${sql.join(columns.map((column) => sql.ref(column)))}) > (${sql.join([...values])})`;
