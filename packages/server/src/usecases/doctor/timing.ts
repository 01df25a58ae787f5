import { setTimeout } from 'node:timers/promises';
import type { ClockReading, NodeFacts } from './facts.js';
import { faultOf, type Node } from './node.js';

const samples = 100;
const mostMs = 800;
/** The first calls pay for connections and for code that is not yet compiled. */
const warmUp = 10;

/** The time of each of some calls in turn, in milliseconds. */
export async function timesOf(call: () => Promise<unknown>): Promise<number[]> {
  for (let i = 0; i < warmUp; i += 1) await call();
  const times: number[] = [];
  const until = performance.now() + mostMs;
  while (times.length < samples && performance.now() < until) {
    const since = performance.now();
    await call();
    times.push(performance.now() - since);
  }
  return times;
}

/** The value that a share of the samples does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** The reading of the fastest round trip is the one that knows best. */
export function bestReading(readings: readonly ClockReading[]): ClockReading | undefined {
  return readings.reduce<ClockReading | undefined>((best, next) => (best && best.withinMs <= next.withinMs ? best : next), undefined);
}

/** Measures round trips, and by the same calls the server's clock. Nothing is measured if TIME is refused. */
export async function measure(node: Node): Promise<Pick<NodeFacts, 'trips' | 'clock' | 'unread'>> {
  const readings: ClockReading[] = [];
  try {
    const trips = await timesOf(async () => {
      const since = performance.now();
      const [seconds, micros] = (await node.ask('TIME')) as [unknown, unknown];
      const now = performance.now();
      const ours = performance.timeOrigin + (since + now) / 2;
      readings.push({ offsetMs: Number(seconds) * 1000 + Number(micros) / 1000 - ours, withinMs: (now - since) / 2 });
    });
    const clock = bestReading(readings);
    return { trips, ...(clock && { clock }), unread: [] };
  } catch (error) {
    return { unread: [{ what: 'TIME', fault: faultOf(error) }] };
  }
}

const patienceMs = 2000;

/** A client that met a dead node of a Cluster first refuses calls for a moment: that is no fault of the servers that live. */
async function untilConnected(call: () => Promise<unknown>): Promise<void> {
  for (const until = performance.now() + patienceMs; ; await setTimeout(50)) {
    try {
      await call();
      return;
    } catch (error) {
      if (faultOf(error) !== 'CLOSED' || performance.now() > until) throw error;
    }
  }
}

/** Checks one key through the library, as the service would. */
export async function measureChecks(check: () => Promise<unknown>): Promise<NonNullable<NodeFacts['checks']>> {
  try {
    await untilConnected(check);
    return { times: await timesOf(check), faults: [] };
  } catch (error) {
    return { times: [], faults: [faultOf(error)] };
  }
}
