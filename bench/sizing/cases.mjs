// What is asked, and how it travels. Limits are so high that nothing is refused, but where that is the case.
import { fixedWindow, slidingLog, slidingWindow, tokenBucket } from 'headgate';

const bucket = tokenBucket({ capacity: 4e6, refill: '1/m' });
const most = { limit: 4e6, window: '1d' };

/** Of every limiter; a rule costs Redis nothing until it is asked for. */
export const rules = {
  bucket: { limit: bucket },
  second: { limit: bucket },
  third: { limit: bucket },
  fixed: { limit: fixedWindow(most) },
  sliding: { limit: slidingWindow(most) },
  log: { limit: slidingLog({ limit: 100, window: '1s' }) },
  // Never empty, so that what is measured is asking for units, not waiting for them.
  lease: { limit: tokenBucket({ capacity: 1e9, refill: '1000000000/s' }), mode: 'lease' },
  closed: { limit: tokenBucket({ capacity: 1, refill: '1/d' }), whenUnavailable: 'refuse' },
};

/** Asked of so few keys that each log holds half of its 100 entries, whatever the pace. */
const halfFull = (perSecond) => Math.max(1, Math.round(perSecond / 50));

const three = ['bucket', 'second', 'third'];
/** A lease lasts a second and a note no longer: so long what is given back, or asked anew, is not that of a steady load. */
const settleMs = 1200;

/**
 * By name. `rules`: of one request. `burst`: requests that an app asks in one turn, and which travel in one call. `busy`: the pace is
 * found at which Redis is busy for about that part of the time, beginning with the `guess` of microseconds a request; less where
 * the clients, which share the cores, need more CPU than Redis. `keysAt`: how many keys at a pace, else all. `isAside`: tells something, and
 * sizes nothing.
 *
 * Those `inProcess` have a pace instead: `perPair` requests a second for each of `keys` keys in each app, in random order. They are last:
 * leases that are given back would else be in another case's figures.
 */
export const cases = {
  'bucket-64': { title: 'token bucket, 64 a call', rules: ['bucket'], burst: 64, busy: 0.5, guess: 5 },
  'bucket-16': { title: 'token bucket, 16 a call', rules: ['bucket'], burst: 16, busy: 0.5, guess: 7 },
  'bucket-4': { title: 'token bucket, 4 a call', rules: ['bucket'], burst: 4, busy: 0.5, guess: 13 },
  'bucket-1': { title: 'token bucket, 1 a call', rules: ['bucket'], burst: 1, busy: 0.4, guess: 35 },
  'bucket-1-calm': { title: 'token bucket, 1 a call, calm', rules: ['bucket'], burst: 1, busy: 0.1, guess: 80, isAside: true },
  fixed: { title: 'fixed window, 64 a call', rules: ['fixed'], burst: 64, busy: 0.5, guess: 7 },
  sliding: { title: 'sliding window, 64 a call', rules: ['sliding'], burst: 64, busy: 0.5, guess: 12 },
  log: { title: 'sliding log of 100, half full', rules: ['log'], burst: 1, busy: 0.4, guess: 80, keysAt: halfFull, settleMs },
  'three-21': { title: 'three buckets, 21 requests a call', rules: three, burst: 21, busy: 0.5, guess: 18 },
  'three-1': { title: 'three buckets, 1 request a call', rules: three, burst: 1, busy: 0.4, guess: 50 },
  driven: { title: 'token bucket, 64 a call, driven to 70 %', rules: ['bucket'], burst: 64, busy: 0.7, guess: 5, isAside: true },
  'lease-100': { title: 'lease, 100/s a pair', rules: ['lease'], burst: 4, inProcess: true, keys: 10, perPair: 100, settleMs },
  'lease-1000': { title: 'lease, 1,000/s a pair', rules: ['lease'], burst: 8, inProcess: true, keys: 2, perPair: 1000, settleMs },
  noted: {
    title: 'refused by a note, 100/s a pair',
    rules: ['closed'],
    burst: 4,
    inProcess: true,
    keys: 20,
    perPair: 100,
    settleMs,
    refused: true,
  },
};
