// What Redis says it has done.

const cpuLine = /^used_cpu_(?:user|sys):([\d.]+)/gm;
const callsLine = /^cmdstat_([\w|]+):calls=(\d+)/gm;

const sumOf = (matches) => matches.reduce((sum, value) => sum + value, 0);

/** CPU time in microseconds, and calls of the commands in `sends`, over all servers: commands within a script are not calls. */
export async function redisUse(controls, sends) {
  const texts = await Promise.all(controls.map(async (control) => [await control.info('cpu'), await control.info('commandstats')]));
  return {
    cpuUs: sumOf(texts.flatMap(([cpu]) => [...cpu.matchAll(cpuLine)].map(([, seconds]) => Number(seconds) * 1e6))),
    calls: sumOf(
      texts.flatMap(([, stats]) =>
        [...stats.matchAll(callsLine)].filter(([, name]) => sends.includes(name)).map(([, , calls]) => Number(calls)),
      ),
    ),
  };
}
