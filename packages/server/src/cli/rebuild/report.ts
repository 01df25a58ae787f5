import { lookOf, out, outJson } from '../out.js';
import { table } from '../table.js';
import type { Sums } from './quota-sums.js';
import type { Tally } from './tally.js';

/** What became of the quotas. */
export interface Written {
  set: number;
  /** Began a new period while the log was read: what was set there is of the old one. */
  moved: number;
  /** No quota of this customer any more. */
  gone: number;
}

export interface Report {
  readonly tally: Tally;
  readonly sums: Sums;
  /** Undefined: nothing was to be set. */
  readonly written: Written | undefined;
}

function byRule(sums: Sums): { readonly rule: string; readonly quotas: number; readonly units: number }[] {
  const totals = new Map<string, { quotas: number; units: number }>();
  for (const { period, used } of sums.all()) {
    const { quotas, units } = totals.get(period.rule) ?? { quotas: 0, units: 0 };
    totals.set(period.rule, { quotas: quotas + 1, units: units + used });
  }
  return [...totals].map(([rule, total]) => ({ rule, ...total })).sort((a, b) => (a.rule < b.rule ? -1 : 1));
}

const columns = [{ title: 'RULE' }, { title: 'KEYS', right: true }, { title: 'UNITS', right: true }] as const;

/** Tells people what was done, without keys; faults on standard error. */
export function tellReport({ tally, sums, written }: Report): void {
  const { lines, counted, outside, other, refused, faulty, faults } = tally;
  for (const { line, fault } of faults) process.stderr.write(`line ${line}: ${fault}\n`);
  if (faulty > faults.length) process.stderr.write(`and ${faulty - faults.length} more lines cannot be read\n`);
  const rows = byRule(sums).map(({ rule, quotas, units }) => [rule, String(quotas), String(units)]);
  if (rows.length > 0) out(`${table(columns, rows, lookOf())}\n`);
  const parts = [`${counted} counted`, `${outside} of other periods`, `${other} of other rules`, `${refused} refused`, `${faulty} faulty`];
  out(`${lines} lines: ${parts.join(', ')}`);
  if (written === undefined) {
    out('nothing was set: --dry-run');
    return;
  }
  out(`${written.set} quotas set`);
  if (written.moved > 0) out(`${written.moved} quotas began a new period meanwhile: run this again`);
  if (written.gone > 0) out(`${written.gone} are no quotas any more: the rules have changed meanwhile`);
}

export const reportJson = ({ tally, sums, written }: Report): void =>
  outJson({ ...tally, rules: byRule(sums), dryRun: written === undefined, ...written });
