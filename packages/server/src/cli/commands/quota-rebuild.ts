import { SettingError } from '../../config.js';
import type { clientSettings } from '../../settings/client.js';
import type { Setting } from '../../settings/setting.js';
import { readAccessLog, type LogLine, type Taken } from '../access-log.js';
import { eachAtMost } from '../at-most.js';
import type { Work } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { lookOf, out, outJson } from '../out.js';
import { isInPart, type Part } from '../parts.js';
import { progressOn, type Progress } from '../progress.js';
import { quotaSums, type Period, type Sums } from '../quota-sums.js';
import { query, withService, type Service } from '../service.js';
import { ServiceError } from '../service-error.js';
import { table } from '../table.js';
import { quotaPath, type QuotaAnswer } from './quota.js';

/** Keys that are kept in mind: about 100 MB. */
const mostKeys = 200_000;
/** Requests under way at once. */
const connections = 8;
/** Faulty lines that are told one by one. */
const mostTold = 10;

interface Options {
  readonly rule: string | undefined;
  readonly part: Part | undefined;
}

/** What became of the lines. */
interface Tally {
  lines: number;
  counted: number;
  outside: number;
  other: number;
  refused: number;
  faulty: number;
  readonly faults: { readonly line: number; readonly fault: string }[];
}

/** Guesses where the shared store is away would be set for good. */
function assertTold(service: Service, quotas: readonly QuotaAnswer[]): void {
  if (quotas.some(({ degraded }) => degraded))
    throw new ServiceError(
      exitCodes.unavailable,
      `${service.url} cannot reach its Redis now, so what it tells of quotas is not true for all; run this again then`,
    );
}

async function periodsOf(service: Service, { key, plan }: Taken): Promise<Period[]> {
  const { quotas } = (await service.ask('GET', quotaPath(key) + query({ plan }))) as { readonly quotas: readonly QuotaAnswer[] };
  assertTold(service, quotas);
  return quotas.map(({ rule, startsAt, resetsAt }) => ({ rule, since: Date.parse(startsAt), until: Date.parse(resetsAt) }));
}

/** The lines of a batch that are asked for, by rule; tallies the others. */
function wanted(lines: readonly LogLine[], { rule: only, part }: Options, tally: Tally): [string, Taken][] {
  const found: [string, Taken][] = [];
  const faulty = (line: number, fault: string): void => {
    tally.faulty += 1;
    if (tally.faults.length < mostTold) tally.faults.push({ line, fault });
  };
  for (const line of lines) {
    tally.lines += 1;
    if ('fault' in line) {
      faulty(line.number, line.fault);
      continue;
    }
    const { taken } = line;
    const rule = taken.rule ?? only;
    if (rule === undefined) faulty(line.number, 'rule: is missing; --rule NAME says which rule such lines are about');
    else if (!taken.allowed) tally.refused += 1;
    else if (only !== undefined && rule !== only) tally.other += 1;
    else if (part === undefined || isInPart(taken.key, part)) found.push([rule, taken]);
  }
  return found;
}

function assertRoom(keys: number): void {
  if (keys > mostKeys)
    throw new SettingError(
      `the log has more than ${mostKeys} keys, and nothing was set; go through it in parts, each time the whole log: --part 1/2, then --part 2/2, or more of them`,
    );
}

async function sumUp(
  service: Service,
  { file, progress, tally, ...options }: Options & { file: string; progress: Progress; tally: Tally },
): Promise<Sums> {
  const sums = quotaSums();
  for await (const lines of readAccessLog(file)) {
    const entries = wanted(lines, options, tally);
    const unknown = new Map(
      entries.filter(([, taken]) => !sums.knows(taken)).map(([, taken]) => [JSON.stringify([taken.key, taken.plan]), taken]),
    );
    assertRoom(sums.keys + new Set([...unknown.values()].map(({ key }) => key)).size);
    await eachAtMost(connections, unknown.values(), async (taken) => {
      sums.learn(taken, await periodsOf(service, taken));
      progress.tell(`${tally.lines} lines, ${sums.keys} keys`);
    });
    for (const [rule, taken] of entries) tally[sums.add(rule, taken)] += 1;
    progress.tell(`${tally.lines} lines, ${sums.keys} keys`);
  }
  return sums;
}

interface Written {
  set: number;
  /** Began a new period while the log was read: what was set there is of the old one. */
  moved: number;
  /** No quota of this customer any more. */
  gone: number;
}

async function setAll(service: Service, sums: Sums, progress: Progress): Promise<Written> {
  const written: Written = { set: 0, moved: 0, gone: 0 };
  await eachAtMost(connections, sums.all(), async ({ key, plan, period: { rule, until }, used }) => {
    try {
      const answer = (await service.ask('PUT', quotaPath(key), { rule, used, plan })) as QuotaAnswer;
      assertTold(service, [answer]);
      written[Date.parse(answer.resetsAt) === until ? 'set' : 'moved'] += 1;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.status !== 404) throw error;
      written.gone += 1;
    }
    progress.tell(`${written.set + written.moved + written.gone} quotas set`);
  });
  return written;
}

function byRule(sums: Sums): { readonly rule: string; readonly quotas: number; readonly units: number }[] {
  const totals = new Map<string, { quotas: number; units: number }>();
  for (const {
    period: { rule },
    used,
  } of sums.all()) {
    const { quotas, units } = totals.get(rule) ?? { quotas: 0, units: 0 };
    totals.set(rule, { quotas: quotas + 1, units: units + used });
  }
  return [...totals].map(([rule, total]) => ({ rule, ...total })).sort((a, b) => (a.rule < b.rule ? -1 : 1));
}

const columns = [{ title: 'RULE' }, { title: 'KEYS', right: true }, { title: 'UNITS', right: true }] as const;

type Rules = ReturnType<typeof byRule>;

function tell(tally: Tally, rules: Rules, written: Written | undefined): void {
  for (const { line, fault } of tally.faults) process.stderr.write(`line ${line}: ${fault}\n`);
  if (tally.faulty > tally.faults.length) process.stderr.write(`and ${tally.faulty - tally.faults.length} more lines cannot be read\n`);
  if (rules.length > 0)
    out(
      `${table(
        columns,
        rules.map(({ rule, quotas, units }) => [rule, String(quotas), String(units)]),
        lookOf(),
      )}\n`,
    );
  const { lines, counted, outside, other, refused, faulty } = tally;
  const parts = [`${counted} counted`, `${outside} of other periods`, `${other} of other rules`, `${refused} refused`, `${faulty} faulty`];
  out(`${lines} lines: ${parts.join(', ')}`);
  if (written === undefined) out('nothing was set: --dry-run');
  else out(`${written.set} quotas set`);
  if (written !== undefined && written.moved > 0) out(`${written.moved} quotas began a new period meanwhile: run this again`);
  if (written !== undefined && written.gone > 0) out(`${written.gone} are no quotas any more: the rules have changed meanwhile`);
}

type Settings = typeof clientSettings & {
  readonly fromLog: Setting<string>;
  readonly rule: Setting<string | undefined>;
  readonly part: Setting<Part | undefined>;
  readonly dryRun: Setting<boolean>;
  readonly json: Setting<boolean>;
};

/** Sums a log, then sets what each customer has used: absolute numbers, so that it may be run again. */
export const rebuild: Work<Settings> = ({ values: { fromLog: file, rule, part, dryRun, json, ...values } }) =>
  withService(
    values,
    async (service) => {
      const progress = progressOn();
      const tally: Tally = { lines: 0, counted: 0, outside: 0, other: 0, refused: 0, faulty: 0, faults: [] };
      try {
        const sums = await sumUp(service, { file, rule, part, progress, tally });
        const written = dryRun ? undefined : await setAll(service, sums, progress);
        progress.end();
        const rules = byRule(sums);
        if (json) outJson({ ...tally, rules, dryRun, ...written });
        else tell(tally, rules, written);
        const whole = tally.faulty === 0 && (written === undefined || written.moved + written.gone === 0);
        return whole ? exitCodes.ok : exitCodes.failed;
      } finally {
        progress.end();
      }
    },
    connections,
  );
