// What is measured of a layout: bytes, CPU, what idle clients leave behind, and whether it decides right.
import { setTimeout as sleep } from 'node:timers/promises';
import { randoms, someOf } from './clients.mjs';
import { batchSize, startSubject } from './subject.mjs';

/** `perSecond` units a second, as the scripts take it. */
function limitOf(capacity, perSecond) {
  const rate = perSecond < 1 ? { units: 1, us: 1 / perSecond } : { units: perSecond, us: 1 };
  return { ...rate, cost: 1e6, full: capacity * 1e6 };
}

/** So slow that no counter expires while it is measured: 1/h. */
const slow = limitOf(1000, 1 / 3600);

function* batchesOf(from, to) {
  for (let i = from; i < to; i += batchSize) yield Array.from({ length: Math.min(batchSize, to - i) }, (_, j) => i + j);
}

/** Twice each: the first check makes a state, the second changes it. */
async function fill(subject, from, to, limit) {
  for (let round = 0; round < 2; round += 1) await subject.checkAll(batchesOf(from, to), limit);
}

/** With connection, script and buffers as they are after a few checks. */
async function usedByNobody(subject) {
  await subject.checkAll(batchesOf(0, 20 * batchSize), slow);
  await subject.empty();
  return subject.used();
}

/** The bytes that a tenth of the clients need, in as many packs as all, and that all need; leaves them there. */
export async function measureBytes(subject, clients) {
  const before = await usedByNobody(subject);
  const tenth = Math.floor(clients / 10);
  await fill(subject, 0, tenth, slow);
  await settled(subject);
  const ofTenth = (await subject.used()) - before;
  await fill(subject, tenth, clients, slow);
  await settled(subject);
  const ofAll = (await subject.used()) - before;
  const states = await subject.states();
  if (states !== clients) throw new Error(`${subject.layout.name}: ${states} states of ${clients} clients`);
  return { bytes: ofAll / clients, bytesOfTenth: ofTenth / tenth, encoding: await subject.encoding() };
}

/** Waits until Redis has given back what it does by and by: tables that become smaller, keys that expired. */
async function settled(subject) {
  for (let last = 0, now = await subject.used(); Math.abs(now - last) > 10_000; now = await subject.used()) {
    last = now;
    await sleep(300);
  }
}

/** CPU of Redis per check, of clients chosen at random; the layouts in turn, so that whatever else the machine does meets all of them. */
export async function measureCpu(subjects, { clients, rounds, seconds }) {
  const found = new Map(subjects.map((subject) => [subject, []]));
  const random = randoms();
  const batches = function* (until) {
    while (performance.now() < until) yield someOf(batchSize, () => random(clients));
  };
  for (let round = 0; round < rounds; round += 1) {
    for (const subject of subjects) {
      await subject.checkAll(batches(performance.now() + seconds * 200), slow);
      const before = await subject.spent();
      let checks = 0;
      await subject.checkAll(batches(performance.now() + seconds * 1000), slow, (ids) => (checks += ids.length));
      const after = await subject.spent();
      found.get(subject).push({
        scriptUs: (after.scriptUs - before.scriptUs) / checks,
        cpuUs: (after.cpuUs - before.cpuUs) / checks,
      });
    }
  }
  return found;
}

/** So many that all are asked in far less time than they need to be full again. */
const idleClients = 100_000;
/** How long two checks take to flow back. */
const idleSeconds = 10;

/**
 * All clients are checked twice, and then only a tenth goes on, each four times in the time that the others' buckets need to be full. From
 * then on the others should cost nothing: what is left of them after so many more checks of each active client.
 */
export async function measureIdle(layout, { macs, clients, after }) {
  const count = Math.min(clients, idleClients);
  const subject = await startSubject(layout, { macs, clients: count });
  const empty = await usedByNobody(subject);
  const active = Math.floor(count / 10);
  const limit = limitOf(1000, 2 / idleSeconds);
  await fill(subject, 0, active, slow);
  await settled(subject);
  const ofActive = (await subject.used()) - empty;
  const before = await usedByNobody(subject);
  await fill(subject, active, count, limit);
  await fill(subject, 0, active, limit);
  const filled = performance.now();
  let turn = 0;
  const askActive = async () => {
    await subject.checkAll(batchesOf(0, active), limit);
    turn += 1;
    await sleep(Math.max(0, filled + (turn * idleSeconds * 1000) / 4 - performance.now()));
  };
  // The time until the others are full.
  for (let i = 0; i < 4; i += 1) await askActive();
  const left = [];
  for (const checks of after) {
    while (turn < 4 + checks) await askActive();
    left.push({
      bytes: ((await subject.used()) - before - ofActive) / (count - active),
      states: ((await subject.states()) - active) / (count - active),
    });
  }
  await subject.stop();
  return left;
}

/** A token bucket as anybody would write it. */
function model({ units, us, cost, full }) {
  const buckets = new Map();
  return (client, now) => {
    const { used, at } = buckets.get(client) ?? { used: 0, at: now };
    const left = Math.max(0, used - Math.floor(((now - at) * units) / us));
    const allowed = left + cost <= full;
    if (allowed) buckets.set(client, { used: left + cost, at: now });
    return allowed ? left + cost : -1 - left;
  };
}

const sampled = 2000;

/** How many answers differ from the model's: decisions, and of exact layouts the units used as well. A few clients ask half of all. */
export async function measureWrong(layout, { macs, seconds }) {
  let [wrong, checks] = [0, 0];
  // A unit takes 50,000 us, and a third of a hundred thousand.
  for (const limit of [limitOf(5, 20), limitOf(5, 30)]) {
    const subject = await startSubject(layout, { macs, clients: sampled });
    const expected = model(limit);
    const random = randoms();
    const pick = () => (random(2) === 0 ? random(sampled / 10) : random(sampled));
    const batches = function* (until) {
      while (performance.now() < until) yield someOf(batchSize, pick);
    };
    await subject.checkAll(batches(performance.now() + seconds * 1000), limit, (ids, [now, ...answers]) => {
      ids.forEach((client, k) => {
        const right = expected(client, now);
        const same = layout.inexact ? answers[k] < 0 === right < 0 : answers[k] === right;
        if (!same) wrong += 1;
        checks += 1;
      });
    });
    await subject.stop();
  }
  return { wrong, checks };
}
