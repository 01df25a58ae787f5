import { describe, expect, it } from 'vitest';
import { systemTiming, type Timing } from '../src/rules/timing.js';
import { askEveryMs, mostUnanswered, pulse } from '../src/workers/pulse.js';

/** A clock whose timers fire when it is told to go on; a jump over several turns fires each timer once, as after a machine slept. */
function handTiming(): Timing & { go(ms: number): void } {
  let now = 0;
  let timers: { at: number; callback: () => void }[] = [];
  return {
    ...systemTiming,
    now: () => now,
    after(ms, callback) {
      const timer = { at: now + ms, callback };
      timers.push(timer);
      return () => void (timers = timers.filter((other) => other !== timer));
    },
    go(ms) {
      now += ms;
      const due = timers.filter(({ at }) => at <= now);
      timers = timers.filter(({ at }) => at > now);
      for (const { callback } of due) callback();
    },
  };
}

function watched(answers: (question: number) => boolean) {
  const timing = handTiming();
  const seen = { asked: 0, silent: 0 };
  const one = pulse({
    timing,
    ask() {
      seen.asked += 1;
      if (answers(seen.asked)) one.answered();
    },
    onSilent: () => void (seen.silent += 1),
  });
  return { timing, seen, one };
}

const turns = (timing: ReturnType<typeof handTiming>, count: number): void => {
  for (let i = 0; i < count; i += 1) timing.go(askEveryMs);
};

describe('the pulse of a worker', () => {
  it('is silent once it has left five questions in a row unanswered; then nothing is asked', () => {
    const { timing, seen } = watched((question) => question <= 3);
    turns(timing, 3 + mostUnanswered);
    expect(seen).toEqual({ asked: 3 + mostUnanswered, silent: 0 });
    turns(timing, 10);
    expect(seen).toEqual({ asked: 3 + mostUnanswered, silent: 1 });
  });

  it('is well if it answers now and then', () => {
    const { timing, seen } = watched((question) => question % mostUnanswered === 0);
    turns(timing, 100);
    expect(seen).toEqual({ asked: 100, silent: 0 });
  });

  it('is not silent because everything slept for a day', () => {
    const { timing, seen, one } = watched(() => false);
    turns(timing, 1);
    timing.go(86_400_000);
    one.answered();
    turns(timing, mostUnanswered);
    expect(seen.silent).toBe(0);
  });

  it('is asked for nothing any more once it has stopped', () => {
    const { timing, seen, one } = watched(() => false);
    one.stop();
    turns(timing, 10);
    expect(seen).toEqual({ asked: 0, silent: 0 });
  });
});
