import { defineScript } from './script.js';

const nothing = (): void => {};

/** Every script, typed; `edit` is for tests. A test compares these definitions with the scripts' headers. */
export function defineScripts(edit?: (source: string) => string) {
  return {
    decide: defineScript<[limits: string, plan: string, period: string], unknown>('decide', {
      args: ['limits', 'plan', 'period'],
      reply: (raw) => raw,
      edit,
    }),
    giveBack: defineScript<string[], number>('give-back', {
      args: ['kind', 'units', 'takenAt', 'mark', 'creditUnits', 'creditUs', 'holder', 'until'],
      reply: Number,
      edit,
    }),
    extend: defineScript<[holder: string, us: string], boolean>('extend', { args: ['holder', 'us'], reply: (raw) => Number(raw) === 1, edit }),
    ban: defineScript<[us: string], void>('ban', { args: ['us'], reply: nothing, edit }),
    reset: defineScript<[], void>('reset', { args: [], reply: nothing, edit }),
  };
}
