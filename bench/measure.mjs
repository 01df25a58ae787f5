// What one cell of the table is made of: N workers in a closed loop, each asks again as soon as it is answered.

/** Keys in an order that looks random and is the same in each run; every key comes once before one comes again. */
export function keyRing(count) {
  const keys = Array.from({ length: count }, (_, i) => `user-${i}`);
  let seed = 42;
  for (let i = count - 1; i > 0; i -= 1) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    const j = seed % (i + 1);
    [keys[i], keys[j]] = [keys[j], keys[i]];
  }
  return keys;
}

/** Asks once for every key, so that each counter is there before anything is measured. */
export async function fill({ ask, keys }) {
  let next = 0;
  const worker = async () => {
    while (next < keys.length) await ask(keys[next++]);
  };
  await Promise.all(Array.from({ length: 64 }, worker));
}

/** Has `inFlight` workers ask for `ms`; writes latencies into `cell`, and answers how long it took to the last answer. */
async function drive({ system, cell, keys, inFlight, ms }) {
  const { ask, passed } = system;
  const { latencies } = cell;
  const start = performance.now();
  const until = start + ms;
  const worker = async () => {
    let asked = performance.now();
    while (asked < until) {
      system.next = (system.next ?? 0) % keys.length;
      const answer = await ask(keys[system.next++]);
      const answered = performance.now();
      if (!passed(answer)) cell.refused += 1;
      if (cell.checks < latencies.length) latencies[cell.checks] = answered - asked;
      cell.checks += 1;
      asked = answered;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return performance.now() - start;
}

const used = /^used_cpu_(?:user|sys):([\d.]+)/gm;

/** CPU time that Redis has used, in microseconds. */
async function redisCpu(control) {
  const info = await control.info('cpu');
  return [...info.matchAll(used)].reduce((sum, [, seconds]) => sum + Number(seconds) * 1e6, 0);
}

const clientCpu = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** An empty cell; its latencies' place is made now, so that measuring allocates nothing. */
export const openCell = (seconds) => ({
  checks: 0,
  refused: 0,
  ms: 0,
  clientUs: 0,
  redisUs: 0,
  latencies: new Float64Array(Math.ceil(seconds * 400_000)),
});

const unmeasured = { checks: 0, refused: 0, latencies: [] };

/** Warms up, measures for `ms`, and adds to the cell. */
export async function addSlice({ system, cell, keys, inFlight, ms, control }) {
  await drive({ system, cell: unmeasured, keys, inFlight, ms: ms / 5 });
  const redisBefore = await redisCpu(control);
  const clientBefore = clientCpu();
  cell.ms += await drive({ system, cell, keys, inFlight, ms });
  cell.clientUs += clientCpu() - clientBefore;
  cell.redisUs += (await redisCpu(control)) - redisBefore;
}

/** The figures of a cell that has all its slices. */
export function figuresOf({ checks, refused, ms, clientUs, redisUs, latencies }) {
  const sorted = latencies.subarray(0, Math.min(checks, latencies.length)).sort();
  const percentile = (part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  return {
    checks,
    refused,
    checksPerSecond: (checks * 1000) / ms,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    clientCpuUs: clientUs / checks,
    redisCpuUs: redisUs / checks,
  };
}
