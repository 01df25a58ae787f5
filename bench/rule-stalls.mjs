// The longest that the event loop stands still while one rule of many changes: decisions have 10 ms.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { createLimiter } from '../packages/headgate/dist/index.js';
import { readDatabaseUrl } from '../packages/server/dist/database/address.js';
import { openDatabase } from '../packages/server/dist/database/open.js';
import { databaseSource } from '../packages/server/dist/rules/source.js';

const nameOf = (index) => `rule ${index}`;
const body = (index, limit) => ({
  limit: { tokenBucket: { capacity: limit, refill: '5/s' } },
  match: { path: `/v1/items/${index}`, method: ['GET', 'POST'] },
  key: ['apiKey'],
  plans: { pro: { tokenBucket: { capacity: limit * 10, refill: '50/s' } } },
});

async function edit({ rules }, count, limit) {
  const { version } = await rules.current();
  await rules.change({ base: version, author: 'bench', reason: '', put: { [nameOf(limit % count)]: body(limit % count, limit) } });
}

/** Somebody else, who changes a rule when he is told to. */
function other(url, count) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { url, count } });
  return {
    edit: (limit) => new Promise((resolve) => worker.once('message', resolve).postMessage(limit)),
    end: () => worker.terminate(),
  };
}

/** CPU time of this thread in milliseconds: on a machine that others use too, time that passes says little. Of Linux; else undefined. */
function cpuMs() {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6;
  } catch {
    return undefined;
  }
}

/** The longest between two ticks of a timer of 1 ms while this goes on: in time, and in CPU time of this thread. */
async function longestStall(work) {
  let last = { at: performance.now(), cpu: cpuMs() };
  const longest = { time: 0, cpu: 0 };
  const tick = () => {
    const now = { at: performance.now(), cpu: cpuMs() };
    longest.time = Math.max(longest.time, now.at - last.at);
    longest.cpu = Math.max(longest.cpu, now.cpu - last.cpu);
    last = now;
  };
  const timer = setInterval(tick, 1);
  await work();
  await sleep(20);
  clearInterval(timer);
  return longest;
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const figures = (values) => `${median(values).toFixed(1)} (most ${Math.max(...values).toFixed(1)})`;
const shown = (stalls) => `${figures(stalls.map(({ cpu }) => cpu))} ms of CPU, ${figures(stalls.map(({ time }) => time))} ms of time`;

/** @param count rules; @param changes of one rule each, by another server and by this one */
export async function measureStalls({ url, count, changes = 9 }) {
  const database = openDatabase(readDatabaseUrl(url));
  const file = { version: 1, rules: Array.from({ length: count }, (_, index) => ({ name: nameOf(index), ...body(index, 1) })) };
  const { version } = await database.rules.current();
  await database.rules.importAll({ base: version, author: 'bench', reason: '', file });
  let source;
  const began = performance.now();
  const atStart = await longestStall(async () => (source = await databaseSource({ database, cache: undefined })));
  console.log(`${count} rules: read at the start in ${(performance.now() - began).toFixed(0)} ms, longest stall ${shown([atStart])}`);
  let limiter = createLimiter({ rules: source.rules.rules.options });
  let limitNow;
  const stop = source.watch({
    onRules({ rules }) {
      limiter = limiter.withRules(rules.options);
      limitNow = (name) => rules.rules.get(name).options.limit.capacity;
    },
    onFault: (error) => console.error(error.message),
    onTrouble: console.error,
  });
  const somebody = other(url, count);
  let limit = 1;
  async function changed(by) {
    limit += 1;
    await by(limit);
    while (limitNow?.(nameOf(limit % count)) !== limit) await sleep(5);
  }
  // The first brings what is compiled once into being.
  await changed(somebody.edit);
  for (const [who, by] of [
    ['nobody', undefined],
    ['another server', somebody.edit],
    ['this server', (given) => edit(database, count, given)],
  ]) {
    const stalls = [];
    for (let time = 0; time < changes; time += 1) stalls.push(await longestStall(() => (by === undefined ? sleep(500) : changed(by))));
    console.log(`  longest stall while ${who} changes one, median of ${changes}: ${shown(stalls)}`);
  }
  stop();
  await somebody.end();
  await database.close();
}

if (!isMainThread && workerData?.url !== undefined) {
  const database = openDatabase(readDatabaseUrl(workerData.url));
  parentPort.on('message', async (limit) => {
    await edit(database, workerData.count, limit);
    parentPort.postMessage(limit);
  });
}
