import type { Timing } from '../rules/timing.js';
import { openSqliteFile, type SqliteFile } from './sqlite-file.js';
import { watchers, type Watchers } from './watchers.js';

/** Between looks at the file, in milliseconds. A look costs some microseconds: SQLite compares a number in shared memory. */
export const lookEveryMs = 500;

/**
 * Notices what any other connection writes to the file, in this process or another, on a connection of its own: `data_version` tells
 * only of the others. A file that is gone or replaced is noticed as well.
 */
export function sqliteChanges(file: string, timing: Timing): Watchers {
  return watchers((wake) => {
    let connection: SqliteFile | undefined;
    let version: unknown;
    let cancel: () => void = () => undefined;
    let isStopped = false;

    function look(): void {
      try {
        if (connection?.isThere() === false) throw new Error('gone');
        if (connection === undefined) {
          connection = openSqliteFile(file, false);
          version = undefined;
        }
        const now = connection.run('pragma data_version', []).rows[0]?.['data_version'];
        if (now !== version) {
          const missed = version === undefined;
          version = now;
          wake(missed);
        }
      } catch {
        // Gone, or in the hands of another: who reads will tell why. The next look finds it again.
        const hadOne = connection !== undefined;
        connection?.close();
        connection = undefined;
        if (hadOne) wake(true);
      }
      if (!isStopped) cancel = timing.after(lookEveryMs, look);
    }

    look();
    return () => {
      isStopped = true;
      cancel();
      connection?.close();
    };
  });
}
