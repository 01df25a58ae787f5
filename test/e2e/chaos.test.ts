import { afterAll, describe, expect, it } from 'vitest';
import { defaults, faults, runFault, table, type Row } from '../chaos/chaos.js';

/** The same as `npm run chaos`, with a test for each fault. */
/** Two cores are too few for this and other test files at once: it runs where it is asked for, alone. */
const asked = process.env['CHAOS'] !== undefined;

describe.runIf(asked)('decisions while Redis fails, by four processes at 500 checks/s each', () => {
  const rows: Row[] = [];
  afterAll(() => console.log(table(rows)));

  it.each(faults.map((fault) => [fault.title, fault] as const))('%s', { timeout: 90_000 }, async (_, fault) => {
    const row = await runFault(fault, defaults);
    rows.push(row);
    expect(row.reasons).toEqual([]);
  });
});
