import { readDoctorConfig, SettingError, type DoctorConfig } from '../../config.js';
import { examineRedis } from '../../doctor.js';
import { showRedisAddress } from '../../redis-address.js';
import { severities, worstOf, type Severity } from '../../usecases/doctor/finding.js';
import type { Diagnosis } from '../../usecases/doctor/index.js';
import { exitCodes } from '../exit-codes.js';
import { table } from '../table.js';
import { ownVersion } from '../version.js';

export const summary = 'doctor    tell what is wrong with a Redis for rate limits';

export const help = `headgate doctor --redis URL [--json] [--prefix hg]

Looks at a Redis or Valkey, and tells what is wrong with it for rate limits, why that matters, and how to mend it. Changes nothing; the
keys that it makes to try things out (hg:1:{doctor...) expire within a second.

  --redis URL      which one; all its servers are looked at                                 HEADGATE_REDIS
                   redis://h, rediss://h, redis+cluster://h1,h2, redis+sentinel://h1,h2/NAME
  --json           for programs: {version, target, reached, worst, findings}
  --prefix PREFIX  what our keys begin with; hg by default, as for the service
                   how long a decision may take; 10ms by default                            HEADGATE_DEADLINE
                   anything: no colours                                                     NO_COLOR

Run it where the service runs: it measures the way from there. Ends with 0 if there is nothing but ok, info and unknown (it could not
be read), with 1 for warnings, 2 for errors, 69 if no server can be reached, 78 if a setting is faulty, 70 if the doctor itself fails.
`;

function exitCodeOf({ reached, findings }: Diagnosis): number {
  if (!reached) return exitCodes.unavailable;
  const worst = worstOf(findings);
  if (worst === 'error') return exitCodes.errors;
  return worst === 'warning' ? exitCodes.warnings : exitCodes.ok;
}

function counted({ findings }: Diagnosis): string {
  const count = (wanted: Severity): number => findings.filter(({ severity }) => severity === wanted).length;
  return [...severities]
    .reverse()
    .filter((severity) => count(severity) > 0)
    .map((severity) => `${count(severity)} ${severity}`)
    .join(', ');
}

function print(diagnosis: Diagnosis, { redis, json, color }: DoctorConfig): void {
  const target = showRedisAddress(redis);
  const { reached, findings } = diagnosis;
  if (json) {
    const report = { version: ownVersion(), target, reached, worst: worstOf(findings), findings };
    process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
    return;
  }
  const look = { width: process.stdout.columns ?? 100, color: color && process.stdout.isTTY };
  process.stdout.write(`${target}\n\n${table(findings, look)}\n\n${counted(diagnosis)}\n`);
}

/** Looks once, prints, and answers the exit code. */
export async function doctor(args: readonly string[]): Promise<number> {
  try {
    const config = readDoctorConfig(args);
    const diagnosis = await examineRedis(config);
    print(diagnosis, config);
    return exitCodeOf(diagnosis);
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
