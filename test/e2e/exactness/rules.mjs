import { concurrency, fixedWindow, quota, slidingLog, slidingWindow, tokenBucket, unlimited } from 'headgate';

// Each limit is written down as plain numbers: those go into the history, and Headgate's own limit is made of them.
export const bucket = (size, units, perMs) => ({ kind: 'tokenBucket', size, units, perUs: perMs * 1000 });
export const fixed = (size, windowMs, from = 'epoch') => ({ kind: 'fixedWindow', size, windowUs: windowMs * 1000, from });
export const sliding = (size, windowMs) => ({ kind: 'slidingWindow', size, windowUs: windowMs * 1000 });
export const log = (size, windowMs) => ({ kind: 'slidingLog', size, windowUs: windowMs * 1000 });
export const hourly = (size) => ({ kind: 'quota', size, period: 'hour' });
export const holders = (size, expiresMs) => ({ kind: 'concurrency', size, expiresUs: expiresMs * 1000 });

export function limitOf(spec) {
  const { size } = spec;
  switch (spec.kind) {
    case 'tokenBucket':
      return tokenBucket({ capacity: size, refill: `${spec.units}/${spec.perUs / 1000}ms` });
    case 'fixedWindow':
      return fixedWindow({ limit: size, window: spec.windowUs / 1000, from: spec.from });
    case 'slidingWindow':
      return slidingWindow({ limit: size, window: spec.windowUs / 1000 });
    case 'slidingLog':
      return slidingLog({ limit: size, window: spec.windowUs / 1000 });
    case 'quota':
      return quota({ limit: size, period: spec.period });
    case 'concurrency':
      return concurrency({ limit: size, expires: spec.expiresUs / 1000 });
    default:
      return unlimited();
  }
}

/**
 * The rules, with sizes such that a hot key is refused about as often as it passes. `back`: units come back, holders are released; those
 * rules are held to brackets, the others exactly. `plans` are by key (a customer has one plan), but for `mixed`, where any check may name one.
 */
export const table = {
  slow: { limit: bucket(30, 100, 60_000) },
  steady: { limit: bucket(20, 47, 1000) },
  odd: { limit: bucket(25, 7, 130) },
  quick: { limit: bucket(6, 101, 1000) },
  // Refused only within one script call: between two it is full again, as no float or whole interval per unit would have it.
  fast: { limit: bucket(4, 700_000, 1000) },
  epoch500: { limit: fixed(40, 500) },
  epoch1500: { limit: fixed(90, 1500) },
  first500: { limit: fixed(35, 500, 'first-request') },
  first1500: { limit: fixed(80, 1500, 'first-request') },
  sliding500: { limit: sliding(45, 500) },
  sliding1500: { limit: sliding(100, 1500) },
  log300: { limit: log(25, 300) },
  log1500: { limit: log(100, 1500) },
  hourly: { limit: hourly(400) },
  slots: { limit: holders(5, 40) },
  planned: { limit: bucket(10, 31, 1000), plans: { pro: bucket(60, 211, 1000), enterprise: { kind: 'unlimited' } } },
  mixed: { limit: fixed(30, 500), plans: { pro: fixed(60, 500) }, mixed: true },
  spend: { limit: bucket(60, 61, 1000), back: true },
  spendQuick: { limit: bucket(10, 149, 1000), back: true },
  windowBack: { limit: fixed(24, 500), back: true },
  firstBack: { limit: fixed(32, 700, 'first-request'), back: true },
  slidingBack: { limit: sliding(26, 500), back: true },
  logBack: { limit: log(25, 400), back: true },
  hourlyBack: { limit: hourly(120), back: true },
  jobs: { limit: holders(6, 60), back: true },
};

/** Shared by all processes, a hot one first. */
export const keys = ['a', 'a', 'a', 'b', 'b', 'c'];
export const planOfKey = { a: undefined, b: 'pro', c: 'enterprise' };

/** The rules as `createLimiter` takes them. */
export function rulesFrom(names) {
  return Object.fromEntries(
    names.map((name) => {
      const { limit, plans = {} } = table[name];
      const byPlan = Object.entries(plans).map(([plan, spec]) => [plan, limitOf(spec)]);
      return [name, { limit: limitOf(limit), plans: Object.fromEntries(byPlan) }];
    }),
  );
}
