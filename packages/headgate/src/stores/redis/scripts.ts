import { defineScript } from './script.js';

/** A bucket's numbers and the cost, in millionths and microseconds, as both hot paths take them. */
export type BucketArgs = readonly [creditUnits: string, creditUs: string, cost: string, capacity: string];

const done = (raw: unknown): boolean => Number(raw) === 1;

/** Every script, typed; `edit` is for tests. A test compares these definitions with the scripts' headers. */
export function defineScripts(edit?: (source: string) => string) {
  return {
    decide: defineScript<[limits: string, plan: string, period: string], unknown>('decide', {
      args: ['limits', 'plan', 'period'],
      reply: (raw) => raw,
      edit,
    }),
    takeBucket: defineScript<BucketArgs, unknown>('take-bucket', {
      args: ['creditUnits', 'creditUs', 'cost', 'capacity'],
      reply: (raw) => raw,
      edit,
    }),
    takeBuckets: defineScript<BucketArgs, unknown>('take-buckets', {
      args: ['creditUnits', 'creditUs', 'cost', 'capacity'],
      reply: (raw) => raw,
      edit,
    }),
    takeGroups: defineScript<readonly [shape: string], unknown>('take-groups', { args: ['shape'], reply: (raw) => raw, edit }),
    giveBack: defineScript<string[], number>('give-back', {
      args: ['kind', 'units', 'takenAt', 'mark', 'creditUnits', 'creditUs', 'holder', 'until', 'capacity', 'fill'],
      reply: Number,
      edit,
    }),
    extend: defineScript<[holder: string, us: string], boolean>('extend', { args: ['holder', 'us'], reply: done, edit }),
    ban: defineScript<[us: string], boolean>('ban', { args: ['us'], reply: done, edit }),
    beat: defineScript<[member: string, us: string], readonly number[]>('beat', {
      args: ['member', 'us'],
      reply: (raw) => (raw as unknown[]).map(Number),
      edit,
    }),
    meet: defineScript<[member: string, us: string], readonly number[]>('meet', {
      args: ['member', 'us'],
      reply: (raw) => (raw as unknown[]).map(Number),
      edit,
    }),
    reset: defineScript<[], boolean>('reset', { args: [], reply: done, edit }),
  };
}
