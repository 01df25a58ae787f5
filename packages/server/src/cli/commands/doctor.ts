import { readDoctorConfig, SettingError, type DoctorConfig } from '../../config.js';
import { examineRedis, type Visit } from '../../doctor.js';
import { showRedisAddress } from '../../redis-address.js';
import { byWorst, severities, worstOf, type Finding, type Severity } from '../../usecases/doctor/finding.js';
import { exitCodes } from '../exit-codes.js';
import { table } from '../table.js';
import { ownVersion } from '../../version.js';

export const help = `headgate doctor --redis URL [--json] [--prefix hg]
headgate doctor --redis NAME=URL --redis NAME=URL ... [--json] [--prefix hg]

Looks at a Redis or Valkey, and tells what is wrong with it for rate limits, why that matters, and how to mend it. Changes nothing; the
keys that it makes to try things out (hg:2{doctor...) expire within a second.

  --redis URL      which one; all its servers are looked at                                 HEADGATE_REDIS
                   redis://h, rediss://h, redis+cluster://h1,h2, redis+sentinel://h1,h2/NAME
  --redis NAME=URL several times, as for the service: each is looked at, and findings name it
  --json           for programs: {version, target, reached, worst, findings}
  --prefix PREFIX  what our keys begin with; hg by default, as for the service
                   how long a decision may take; 10ms by default                            HEADGATE_DEADLINE
                   anything: no colours                                                     NO_COLOR

Run it where the service runs: it measures the way from there. Ends with 0 if there is nothing but ok, info and unknown (it could not
be read), with 1 for warnings, 2 for errors, 69 if no server can be reached, 78 if a setting is faulty, 70 if the doctor itself fails;
of several Redis the worst counts.
`;

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

function print(visits: readonly Visit[], findings: readonly Finding[], { json, color }: DoctorConfig): void {
  if (json) {
    const report = { version: ownVersion(), ...lookedAt(visits), reached: reachedAny(visits), worst: worstOf(findings), findings };
    process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
    return;
  }
  const look = { width: process.stdout.columns ?? 100, color: color && process.stdout.isTTY };
  const targets = visits.map(({ server: { name, address } }) => `${name === undefined ? '' : `${name}  `}${showRedisAddress(address)}`);
  process.stdout.write(`${targets.join('\n')}\n\n${table(findings, look)}\n\n${counted(findings)}\n`);
}

/** Looks once, prints, and answers the exit code. */
export async function doctor(args: readonly string[]): Promise<number> {
  try {
    const config = readDoctorConfig(args);
    const visits = await examineRedis(config);
    const findings = byWorst(visits.flatMap((visit) => visit.findings));
    print(visits, findings, config);
    return exitCodeOf(visits, worstOf(findings));
  } catch (error) {
    if (error instanceof SettingError) {
      process.stderr.write(`${error.message}\n`);
      return exitCodes.config;
    }
    // Its message may repeat what was sent.
    process.stderr.write(`headgate: the doctor failed (${error instanceof Error ? error.name : 'unknown error'})\n`);
    return exitCodes.software;
  }
}
