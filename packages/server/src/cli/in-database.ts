import type { DatabaseAddress } from '../database/address.js';
import { openDatabase, type Database } from '../database/open.js';

/** Opens the database for one piece of work. */
export async function inDatabase<T>(
  { database: address }: { readonly database: DatabaseAddress },
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = openDatabase(address);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
