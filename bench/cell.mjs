// What one cell of the table is made of: slices, of one or several processes.
import { redisUse } from './redis-use.mjs';

export const openCell = () => ({ checks: 0, wrong: 0, seconds: 0, clientUs: 0, redisUs: 0, calls: 0, latencies: [] });

/** Warms up, measures for `ms`, and adds to the cell. */
export async function addSlice({ processes, cell, controls, sends, name, inFlight, ms }) {
  await processes.drive({ name, inFlight, ms: ms / 5 });
  const before = await redisUse(controls, sends);
  const parts = await processes.drive({ name, inFlight, ms });
  const after = await redisUse(controls, sends);
  const seconds = Math.max(...parts.map((part) => part.ms)) / 1000;
  cell.seconds += seconds;
  for (const { checks, wrong, clientUs, latencies } of parts) {
    cell.checks += checks;
    cell.wrong += wrong;
    cell.clientUs += clientUs;
    cell.latencies.push(latencies);
  }
  cell.redisUs += after.cpuUs - before.cpuUs;
  cell.calls += after.calls - before.calls;
}

function joined(arrays) {
  const all = new Float64Array(arrays.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const array of arrays) {
    all.set(array, at);
    at += array.length;
  }
  return all;
}

/** The figures of a cell that has all its slices. */
export function figuresOf({ checks, wrong, seconds, clientUs, redisUs, calls, latencies }) {
  const sorted = joined(latencies).sort();
  const percentile = (part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  return {
    checks,
    wrong,
    checksPerSecond: checks / seconds,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    p999Ms: percentile(0.999),
    clientCpuUs: clientUs / checks,
    redisCpuUs: redisUs / checks,
    callsPerCheck: calls / checks,
  };
}
