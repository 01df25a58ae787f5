import { fixedWindow, type Limit, type RuleOptions } from 'headgate';
import type { Answer, Behaviour, Bench } from '../site.js';

/** So many an hour, counted from the first. */
export const hourly = (limit: number): Limit => fixedWindow({ limit, window: '1h', from: 'first-request' });

export const rule = (limit: number, more: Partial<RuleOptions> = {}): RuleOptions => ({ limit: hourly(limit), ...more });

export const ok = (): Answer => ({ status: 200, body: 'ok' });

export const behaviour = (name: string, run: (bench: Bench) => Promise<void>): Behaviour => ({ name, run });

/** A door that requests wait at, and that tells how many do. */
export function door() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  let waiting = 0;
  return {
    open: () => open(),
    waiting: () => waiting,
    async pass() {
      waiting += 1;
      await opened;
      waiting -= 1;
    },
  };
}

/** Units left of a key, asked without taking. */
export const left = async (limiter: ReturnType<Bench['limiterOf']>, name: string, key = '127.0.0.1'): Promise<number> =>
  (await limiter.peek(name, key)).remaining;
