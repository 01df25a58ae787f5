import type { Meter, MetricOptions, Observable, ObservableResult } from '@opentelemetry/api';
import type { DecisionMessage, FetchMessage } from '../channels.js';
import type { LimiterEvent } from '../events.js';
import type { Limiter, LimiterStats } from '../limiter-types.js';
import { attributesOf } from './attributes.js';

/** Counts decisions, and the units that they took. */
export function decisionMetrics(meter: Meter): (message: DecisionMessage) => void {
  const decisions = meter.createCounter('headgate.decisions', { unit: '{decision}', description: 'Decisions made' });
  const units = meter.createCounter('headgate.units', { unit: '{unit}', description: 'Units taken by requests that passed' });
  return (message) => {
    decisions.add(1, attributesOf(message));
    if (message.granted && message.wouldAllow) units.add(message.cost, { 'headgate.rule': message.rule });
  };
}

/** Counts changes of state. */
export function eventMetrics(meter: Meter): (event: LimiterEvent) => void {
  const events = meter.createCounter('headgate.events', { unit: '{event}', description: 'Changes of state, such as a store that is away' });
  return ({ type, shard }) => events.add(1, { 'headgate.event': type, ...(shard !== undefined && { 'headgate.shard': shard }) });
}

/** Measures calls to partners. */
export function fetchMetrics(meter: Meter): (message: FetchMessage) => void {
  const waits = meter.createHistogram('headgate.fetch.wait.duration', { unit: 's', description: 'Waits of outbound calls for their turn' });
  const durations = meter.createHistogram('headgate.fetch.duration', {
    unit: 's',
    description: 'Outbound calls, to the head of the answer',
  });
  const holds = meter.createCounter('headgate.fetch.holds', {
    unit: '{hold}',
    description: 'Answers that held back all calls of their key',
  });
  return ({ rule, waitedMs, tookMs, status, heldMs }) => {
    const attributes = { 'headgate.rule': rule };
    waits.record(waitedMs / 1000, attributes);
    if (tookMs !== undefined)
      durations.record(tookMs / 1000, { ...attributes, ...(status !== undefined && { 'http.response.status_code': status }) });
    if (heldMs > 0) holds.add(1, attributes);
  };
}

type Reading = readonly [name: string, kind: 'counter' | 'gauge', options: MetricOptions, read: (stats: LimiterStats) => number];

const readings: readonly Reading[] = [
  ['headgate.notes.refused', 'counter', { unit: '{check}', description: 'Checks refused by a note, at no call' }, ({ noted }) => noted],
  ['headgate.notes.size', 'gauge', { unit: '{note}', description: 'Notes kept' }, ({ notes }) => notes],
  ['headgate.local.keys', 'gauge', { unit: '{key}', description: 'Keys counted locally' }, ({ localKeys }) => localKeys],
  ['headgate.owing', 'gauge', { unit: '{budget}', description: 'Budgets that owe units to the store' }, ({ owing }) => owing],
  ['headgate.units.uncharged', 'counter', { unit: '{unit}', description: 'Units never charged' }, ({ uncharged }) => uncharged],
  ['headgate.units.unreturned', 'counter', { unit: '{call}', description: 'Give-backs not carried out' }, ({ unreturned }) => unreturned],
  ['headgate.fleet.size', 'gauge', { unit: '{process}', description: 'Processes that share the store' }, ({ fleet }) => fleet],
  [
    'headgate.shards.unavailable',
    'gauge',
    { unit: '{shard}', description: 'Shards that are asked no more for now' },
    ({ unavailable }) => unavailable.length,
  ],
];

/** Tells of limiters by name, whenever metrics are collected. The function returned ends it. */
export function statsMetrics(meter: Meter, limiters: Readonly<Record<string, Pick<Limiter, 'stats'>>>): () => void {
  const ends = readings.map(([name, kind, options, read]) => {
    const observable: Observable =
      kind === 'counter' ? meter.createObservableCounter(name, options) : meter.createObservableGauge(name, options);
    const observe = (result: ObservableResult): void => {
      for (const [limiter, { stats }] of Object.entries(limiters)) result.observe(read(stats()), { 'headgate.limiter': limiter });
    };
    observable.addCallback(observe);
    return () => observable.removeCallback(observe);
  });
  return () => {
    for (const end of ends) end();
  };
}
