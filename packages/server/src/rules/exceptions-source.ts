import { openCopy, type Copy, type CopyOptions } from './copy.js';
import type { Snapshot } from './copy-opening.js';
import type { Versioned } from './disk-copy.js';
import type { Exceptions, ExceptionsReader } from './exceptions.js';

function snapshotOf(version: string | number, exceptions: Exceptions): Snapshot<Exceptions> {
  return { version, text: JSON.stringify(exceptions), make: () => Promise.resolve(exceptions) };
}

function parsed({ version, text }: Versioned): Snapshot<Exceptions> {
  return snapshotOf(version, JSON.parse(text) as Exceptions);
}

const none: Exceptions = { plans: [], overrides: [], exemptions: [], shadows: [] };

/**
 * Opens customers' plans, overrides, exemptions and switches in a database, and keeps a copy of all of them, as for rules. What ends while it
 * is in memory is still there: whoever uses it looks at `until`. Where the database is away and no copy is on disk it begins with none, as
 * rules without exceptions are better than none; watching tells so.
 */
export function openExceptions(reader: ExceptionsReader, options: CopyOptions): Promise<Copy<Exceptions>> {
  return openCopy<Exceptions>(
    {
      edition: reader.edition,
      read: async () => snapshotOf(await reader.edition(), await reader.all()),
      parse: parsed,
      otherwise: snapshotOf('', none),
    },
    options,
  );
}
