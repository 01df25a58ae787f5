// One cell: N workers in a closed loop, each asks again as soon as it is answered.

/** Latencies of one cell in milliseconds; made once, so that measuring allocates nothing. */
let latencies = new Float64Array(0);

export function prepare({ seconds }) {
  latencies = new Float64Array(Math.ceil(seconds * 500_000));
}

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

/** Asks for `keys` for `ms`; answers how many checks, how many refused, and how long it took to the last answer. */
async function drive({ ask, passed, keys, inFlight, ms, from }) {
  let count = 0;
  let refused = 0;
  let next = from;
  const start = performance.now();
  const until = start + ms;
  const worker = async () => {
    let asked = performance.now();
    while (asked < until) {
      if (next >= keys.length) next = 0;
      const answer = await ask(keys[next++]);
      const answered = performance.now();
      if (!passed(answer)) refused += 1;
      if (count < latencies.length) latencies[count] = answered - asked;
      count += 1;
      asked = answered;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { count, refused, next, ms: performance.now() - start };
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

/** Asks once for every key, so that each counter is there before anything is measured. */
export async function fill({ ask, keys }) {
  let next = 0;
  const worker = async () => {
    while (next < keys.length) await ask(keys[next++]);
  };
  await Promise.all(Array.from({ length: 64 }, worker));
}

/** Warms up, measures, and puts the figures of one cell together. */
export async function measure({ system, keys, inFlight, seconds, control }) {
  const { ask, passed } = system;
  const warm = await drive({ ask, passed, keys, inFlight, ms: 200, from: system.next ?? 0 });
  const redisBefore = await redisCpu(control);
  const clientBefore = clientCpu();
  const run = await drive({ ask, passed, keys, inFlight, ms: seconds * 1000, from: warm.next });
  const client = clientCpu() - clientBefore;
  const redis = (await redisCpu(control)) - redisBefore;
  system.next = run.next;
  const sorted = latencies.subarray(0, Math.min(run.count, latencies.length)).sort();
  const percentile = (part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  return {
    checks: run.count,
    refused: warm.refused + run.refused,
    checksPerSecond: (run.count * 1000) / run.ms,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    clientCpuUs: client / run.count,
    redisCpuUs: redis / run.count,
  };
}
