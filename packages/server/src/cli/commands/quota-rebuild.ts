import { SettingError } from '../../config.js';
import type { clientSettings } from '../../settings/client.js';
import type { Setting } from '../../settings/setting.js';
import { eachAtMost } from '../at-most.js';
import type { QuotaState } from '../../usecases/quotas.js';
import type { Work } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { progressOn, type Progress } from '../progress.js';
import { readAccessLog, type Taken } from '../rebuild/access-log.js';
import type { Part } from '../rebuild/parts.js';
import { quotaSums, type Period, type Sums } from '../rebuild/quota-sums.js';
import { reportJson, tellReport, type Report, type Written } from '../rebuild/report.js';
import { emptyTally, wantedOf, type Tally, type Wanted } from '../rebuild/tally.js';
import { query, withService, type Service } from '../service.js';
import { ServiceError } from '../service-error.js';
import { quotaPath } from './quota.js';

/** Keys that are kept in mind: about 100 MB. */
const mostKeys = 200_000;
/** Requests under way at once. */
const connections = 8;

/** Guesses where the shared store is away would be set for good. */
function assertTold({ url }: Service, quotas: readonly QuotaState[]): void {
  if (quotas.some(({ degraded }) => degraded))
    throw new ServiceError(
      exitCodes.unavailable,
      `${url} cannot reach its Redis, so what it tells of quotas is a guess; run this again when it can`,
    );
}

async function periodsOf(service: Service, { key, plan }: Taken): Promise<Period[]> {
  const { quotas } = (await service.ask('GET', quotaPath(key) + query({ plan }))) as { readonly quotas: readonly QuotaState[] };
  assertTold(service, quotas);
  return quotas.map(({ rule, startsAt, resetsAt }) => ({ rule, since: Date.parse(startsAt), until: Date.parse(resetsAt) }));
}

function assertRoom(keys: number): void {
  if (keys > mostKeys)
    throw new SettingError(
      `the log has more than ${mostKeys} keys, and nothing was set; go through it in parts, each time the whole log: --part 1/2, then --part 2/2, or more of them`,
    );
}

interface Summing extends Wanted {
  readonly file: string;
  readonly tally: Tally;
  readonly progress: Progress;
}

async function sumUp(service: Service, { file, tally, progress, ...wanted }: Summing): Promise<Sums> {
  const sums = quotaSums();
  const tell = (): void => progress.tell(`${tally.lines} lines, ${sums.keys} keys`);
  for await (const lines of readAccessLog(file)) {
    const entries = wantedOf(lines, wanted, tally);
    const unknown = new Map<string, Taken>();
    for (const [, taken] of entries) if (!sums.knows(taken)) unknown.set(JSON.stringify([taken.key, taken.plan]), taken);
    // Too many by a few, where a key has several plans.
    assertRoom(sums.keys + unknown.size);
    await eachAtMost(connections, unknown.values(), async (taken) => {
      sums.learn(taken, await periodsOf(service, taken));
      tell();
    });
    for (const [rule, taken] of entries) tally[sums.add(rule, taken)] += 1;
    tell();
  }
  return sums;
}

async function setAll(service: Service, sums: Sums, progress: Progress): Promise<Written> {
  const written: Written = { set: 0, moved: 0, gone: 0 };
  await eachAtMost(connections, sums.all(), async ({ key, plan, period: { rule, until }, used }) => {
    try {
      const answer = (await service.ask('PUT', quotaPath(key), { rule, used, plan })) as QuotaState;
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

function exitCodeOf({ tally: { faulty }, written }: Report): number {
  const isWhole = faulty === 0 && (written === undefined || written.moved + written.gone === 0);
  return isWhole ? exitCodes.ok : exitCodes.failed;
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
      const tally = emptyTally();
      try {
        const sums = await sumUp(service, { file, rule, part, progress, tally });
        const report: Report = { tally, sums, written: dryRun ? undefined : await setAll(service, sums, progress) };
        progress.end();
        if (json) reportJson(report);
        else tellReport(report);
        return exitCodeOf(report);
      } finally {
        progress.end();
      }
    },
    connections,
  );
