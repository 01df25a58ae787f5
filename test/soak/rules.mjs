import { concurrency, fixedWindow, quota, slidingLog, slidingWindow, tokenBucket } from 'headgate';

// What a client leaves behind in Redis is gone within four seconds, so that keys come and go at a steady level from the warm-up on.

/** Limits that are changed with each reload: a tenth more, a fifth more, and back. */
const sized = (size, generation) => size + Math.ceil(size / 10) * (generation % 3);

/** A rule that is counted in another way after each reload. */
const ways = [
  { limit: tokenBucket({ capacity: 300, refill: '150/s' }) },
  { limit: tokenBucket({ capacity: 300, refill: '150/s' }), mode: 'lease' },
  { limit: fixedWindow({ limit: 300, window: '2s' }), mode: { sync: '100ms' } },
  { limit: fixedWindow({ limit: 300, window: '2s' }), mode: 'auto' },
  { limit: slidingWindow({ limit: 300, window: '1s' }) },
];

/** There are so many campaigns, of which one is on at a time: its rule is gone with the next reload. */
const campaigns = 8;

/** The rules as `createLimiter` takes them, after so many reloads. */
export function rules(generation) {
  const n = (size) => sized(size, generation);
  return {
    bucket: { limit: tokenBucket({ capacity: n(20), refill: `${n(20)}/s` }) },
    planned: {
      limit: tokenBucket({ capacity: 5, refill: '5/s' }),
      plans: { pro: tokenBucket({ capacity: n(50), refill: '50/s' }), trial: fixedWindow({ limit: 3, window: '1s' }) },
    },
    window: { limit: fixedWindow({ limit: n(20), window: '1s' }) },
    first: { limit: fixedWindow({ limit: n(20), window: '1500ms', from: 'first-request' }) },
    sliding: { limit: slidingWindow({ limit: n(20), window: '1s' }) },
    log: { limit: slidingLog({ limit: n(20), window: '1s' }) },
    hourly: { limit: quota({ limit: n(10_000), period: 'hour', timeZone: 'Europe/Zurich' }) },
    jobs: { limit: concurrency({ limit: n(10), expires: '1s' }) },
    login: { limit: fixedWindow({ limit: n(5), window: '1s' }), countRefused: true, whenUnavailable: 'refuse' },
    open: { limit: tokenBucket({ capacity: n(20), refill: '20/s' }), whenUnavailable: 'allow' },
    watched: { limit: fixedWindow({ limit: n(5), window: '1s' }), shadow: true },
    leased: { limit: tokenBucket({ capacity: n(200), refill: '200/s' }), mode: 'lease' },
    leasedWindow: { limit: fixedWindow({ limit: n(400), window: '2s' }), mode: 'lease' },
    auto: { limit: tokenBucket({ capacity: n(300), refill: '300/s' }), mode: 'auto' },
    synced: { limit: fixedWindow({ limit: n(400), window: '2s' }), mode: { sync: generation % 2 === 0 ? '100ms' : '50ms' } },
    syncedBucket: { limit: tokenBucket({ capacity: n(400), refill: '200/s' }), mode: { sync: '100ms' } },
    changing: ways[generation % ways.length],
    spend: { limit: tokenBucket({ capacity: n(100), refill: '100/s' }) },
    queue: { limit: tokenBucket({ capacity: 2, refill: '40/s' }) },
    scarce: { limit: fixedWindow({ limit: 1, window: '2s' }) },
    [`campaign${generation % campaigns}`]: { limit: tokenBucket({ capacity: n(20), refill: '20/s' }), mode: 'lease' },
  };
}

/** Rules with verbs of their own: no plain check asks for them. */
const special = ['jobs', 'spend', 'queue', 'scarce'];

/** Of these rules, what a plain check or a group may ask for. */
export const checkable = (given) => Object.keys(given).filter((name) => !special.includes(name));

/** A quota's counter stays until the hour ends: only clients that are always there have one. */
export const isLong = (rule) => rule === 'hourly';
