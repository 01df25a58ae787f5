import { examineRedis, type Visit } from '../../doctor.js';
import { showRedisAddress } from '../../redis-address.js';
import { byWorst, severities, worstOf, type Finding, type Severity } from '../../usecases/doctor/finding.js';
import { readRedisServers } from '../../redis-servers.js';
import { assertFaultless } from '../../settings/read.js';
import type { Given, Setting, SettingTable } from '../../settings/setting.js';
import type { Work } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { lookOf, outJson } from '../out.js';
import { table } from '../findings.js';
import { ownVersion } from '../../version.js';

const reachedAny = (visits: readonly Visit[]): boolean => visits.some(({ reached }) => reached);

function exitCodeOf(visits: readonly Visit[], worst: Severity): number {
  if (!reachedAny(visits)) return exitCodes.unavailable;
  if (worst === 'error') return exitCodes.errors;
  return worst === 'warning' ? exitCodes.warnings : exitCodes.ok;
}

function counted(findings: readonly Finding[]): string {
  const count = (wanted: Severity): number => findings.filter(({ severity }) => severity === wanted).length;
  return [...severities]
    .reverse()
    .filter((severity) => count(severity) > 0)
    .map((severity) => `${count(severity)} ${severity}`)
    .join(', ');
}

/** What was looked at, for programs: one target, or shards by name. */
function lookedAt(visits: readonly Visit[]): object {
  const [first] = visits;
  if (first !== undefined && first.server.name === undefined) return { target: showRedisAddress(first.server.address) };
  const shards = visits.map(({ server: { name, address }, reached, findings }) => {
    return { shard: name, target: showRedisAddress(address), reached, worst: worstOf(findings) };
  });
  return { shards };
}

function print(visits: readonly Visit[], findings: readonly Finding[], json: boolean): void {
  if (json) {
    const report = { version: ownVersion(), ...lookedAt(visits), reached: reachedAny(visits), worst: worstOf(findings), findings };
    outJson(report);
    return;
  }
  const { width, color } = lookOf();
  const look = { width: Number.isFinite(width) ? width : 100, color };
  const targets = visits.map(({ server: { name, address } }) => `${name === undefined ? '' : `${name}  `}${showRedisAddress(address)}`);
  process.stdout.write(`${targets.join('\n')}\n\n${table(findings, look)}\n\n${counted(findings)}\n`);
}

interface Settings {
  readonly redis: Setting<Given>;
  readonly json: Setting<boolean>;
  readonly prefix: Setting<string>;
  readonly deadline: Setting<number>;
}

/** Looks once, prints, and answers the exit code. */
export const doctor: Work<Settings & SettingTable> = async ({ values: { redis, json, prefix, deadline: deadlineMs } }) => {
  const faults: string[] = [];
  const servers = readRedisServers(redis, { where: '--weight', texts: [] }, faults);
  assertFaultless(faults);
  try {
    const visits = await examineRedis({ redis: servers, prefix, deadlineMs });
    const findings = byWorst(visits.flatMap((visit) => visit.findings));
    print(visits, findings, json);
    return exitCodeOf(visits, worstOf(findings));
  } catch (error) {
    // Its message may repeat what was sent.
    process.stderr.write(`headgate: the doctor failed (${error instanceof Error ? error.name : 'unknown error'})\n`);
    return exitCodes.software;
  }
};
