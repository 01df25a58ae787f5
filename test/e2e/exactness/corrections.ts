import type { Effect, Take } from './level.js';
import type { CheckRecord, CorrectionRecord } from './history.js';
import type { Violation } from './judge.js';

/** All corrections of one take, brought into what a timeline needs. */
export interface Correction {
  readonly of: { readonly take: Take; readonly record: CheckRecord; readonly budget: string };
  readonly effects: { readonly effect: Effect; readonly begin: number; readonly end: number; readonly done: number }[];
}

export interface BracketOptions {
  readonly takes: ReadonlyMap<string, Correction['of']>;
  readonly corrections: readonly CorrectionRecord[];
  /** Gets what can be told wrong from a take and its corrections alone. */
  readonly violations: Violation[];
}

const million = 1_000_000n;
const millionths = (units: number): bigint => BigInt(Math.round(units * 1e6));

/** Sets until when a holder surely and perhaps held; its corrections come from one process, one after the other. */
function holderEnds(
  { take, record }: Correction['of'],
  records: readonly CorrectionRecord[],
  fail: (record: CorrectionRecord, detail: string) => void,
): void {
  if (record.limit.kind !== 'concurrency') return;
  const lasts = BigInt(record.limit.expiresUs);
  let [sure, possible] = [take.at + lasts, take.at + lasts];
  for (const correction of records) {
    const [after, before] = [BigInt(correction.after), BigInt(correction.before)];
    if (correction.done === 0 && before <= sure) fail(correction, `${correction.verb} found no holder, which surely held until ${sure}`);
    if (correction.done > 0 && after >= possible) fail(correction, `${correction.verb} found a holder that ended by ${possible}`);
    if (correction.done === 0) continue;
    if (correction.verb === 'extend') [sure, possible] = [after + lasts, before + lasts];
    else [sure, possible] = [after + 1n < sure ? after + 1n : sure, before < possible ? before : possible];
  }
  [take.sureEnd, take.possibleEnd] = [sure, possible];
}

/** The most that may come back into a bucket, in millionths: what has not flowed back by itself, at the earliest moment. */
function mostReturned({ take, record: { limit } }: Correction['of'], { asked, after }: CorrectionRecord): bigint {
  const units = millionths(asked);
  if (limit.kind !== 'tokenBucket') return units;
  const flowed = ((BigInt(after) - take.at) * BigInt(limit.units) * million) / BigInt(limit.perUs);
  return flowed >= units ? 0n : units - flowed;
}

/** Groups corrections by what they correct, checks what each may do by itself, and says between which moments it did it. */
export function bracket({ takes, corrections, violations }: BracketOptions): Correction[] {
  const byTake = new Map<string, CorrectionRecord[]>();
  for (const record of corrections) {
    const id = `${record.decision}.${record.check}`;
    byTake.set(id, [...(byTake.get(id) ?? []), record]);
  }
  const found: Correction[] = [];
  for (const [id, records] of byTake) {
    const of = takes.get(id);
    if (of === undefined) {
      const some = records.find(({ done }) => done > 0);
      if (some)
        violations.push({
          fault: 'gave-back-too-much',
          budget: id,
          at: some.after,
          detail: `${some.done} units came back of a decision that took nothing`,
        });
      continue;
    }
    const fail = (fault: Violation['fault'], at: number, detail: string): void =>
      void violations.push({ fault, budget: of.budget, at, detail });
    if (of.record.limit.kind === 'concurrency') {
      holderEnds(of, records, (record, detail) => fail('holder-lost', record.after, detail));
      continue;
    }
    const effects: Correction['effects'] = [];
    let returned = 0n;
    for (const record of records) {
      const charge = record.verb === 'charge';
      const amount = millionths(record.done);
      if (!charge) {
        returned += amount;
        const most = mostReturned(of, record);
        if (amount > most) fail('gave-back-too-much', record.after, `${record.done} units came back, at most ${Number(most) / 1e6} could`);
        if (returned > of.take.cost * million)
          fail('gave-back-too-much', record.after, `${Number(returned) / 1e6} units came back of ${of.take.cost} taken`);
      }
      const end = Math.max(record.before, record.after + 1);
      if (amount > 0n) effects.push({ effect: { take: of.take, amount, charge }, begin: record.after, end, done: record.done });
    }
    found.push({ of, effects });
  }
  // A holder that nobody corrected ends when it expires.
  for (const { take, record } of takes.values()) {
    if (record.limit.kind !== 'concurrency' || take.sureEnd !== undefined) continue;
    take.sureEnd = take.possibleEnd = take.at + BigInt(record.limit.expiresUs);
  }
  return found;
}
