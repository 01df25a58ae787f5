// The arithmetic here is right, and its own, so that only one thing is wrong with this store: reading and writing are two steps.
const million = 1_000_000;
const endAfter = (now, length) => (Math.floor(now / length) + 1) * length;
const fresh = (end) => ({ count: 0, end });

const windows = (endOf) => ({
  current: (stored, limit, now) => (stored && stored.end > now ? stored : fresh(endOf(limit, now))),
  used: ({ count }) => count * million,
  add: (state, cost) => ({ ...state, count: state.count + cost }),
});

/** By kind: a stored state brought to now, what it has used in millionths, and the state after a take. */
const kinds = {
  tokenBucket: {
    current: (stored, { creditUnits, creditUs }, now) => {
      if (!stored) return { used: 0, at: now };
      return { used: Math.max(0, stored.used - Math.floor(((now - stored.at) * creditUnits) / creditUs)), at: now };
    },
    used: ({ used }) => used,
    add: ({ used, at }, cost) => ({ used: used + cost * million, at }),
  },
  fixedWindow: windows(({ from, windowUs }, now) => (from === 'epoch' ? endAfter(now, windowUs) : now + windowUs)),
  quota: windows((_, now) => endAfter(now, 3600 * million)),
  slidingWindow: {
    current: (stored, { windowUs }, now) => {
      const end = endAfter(now, windowUs);
      if (stored?.end === end) return stored;
      return { count: 0, previous: stored?.end === end - windowUs ? stored.count : 0, end };
    },
    used: ({ count, previous, end }, { windowUs }, now) => (count + Math.ceil(((end - now) * previous) / windowUs)) * million,
    add: (state, cost) => ({ ...state, count: state.count + cost }),
  },
  slidingLog: {
    current: (stored, { windowUs }, now) => (stored ?? []).filter(({ at }) => at + windowUs > now),
    used: (entries) => entries.reduce((sum, { cost }) => sum + cost, 0) * million,
    add: (entries, cost, _, now) => [...entries, { at: now, cost }],
  },
  concurrency: {
    current: (stored, _, now) => (stored ?? []).filter(({ until }) => until > now),
    used: (holders) => holders.reduce((sum, { cost }) => sum + cost, 0) * million,
    add: (holders, cost, { expiresUs }, now) => [...holders, { until: now + expiresUs, cost }],
  },
};

/** A Store as many are written: GET, decide here, SET. The checker has to find out. */
export function racyStore(redis) {
  const no = () => Promise.reject(new Error('the racy store only decides'));
  return {
    async decide({ checks, dry }) {
      const names = checks.map(({ rule, key, limit }) => `racy:${rule}:${key}:${limit.kind}`);
      const [[, [seconds, us]], [, values]] = await redis.pipeline().time().mget(names).exec();
      const now = Number(seconds) * million + Number(us);
      const found = checks.map(({ limit, cost }, i) => {
        const kind = kinds[limit.kind];
        const state = kind.current(values[i] ? JSON.parse(values[i]) : undefined, limit, now);
        const size = limit.capacity ?? limit.limit;
        const free = size * million - kind.used(state, limit, now);
        return { free, size, passes: cost * million <= free, next: () => JSON.stringify(kind.add(state, cost, limit, now)) };
      });
      const allowed = found.every(({ passes }) => passes);
      const takes = allowed && !dry;
      if (takes) {
        const writes = redis.pipeline();
        found.forEach(({ next }, i) => writes.set(names[i], next(), 'PX', 3_600_000));
        await writes.exec();
      }
      const outcomes = checks.map(({ cost }, i) => {
        const { free, size, passes } = found[i];
        const taken = takes ? cost : 0;
        const remaining = Math.max(0, Math.floor(free / million) - taken);
        // How long to wait is not what is tested here: any time will do.
        const retryAfterUs = passes ? 0 : cost > size ? Infinity : 1000;
        const reason = passes ? 'ok' : cost > size ? 'cost-above-limit' : 'limited';
        return { allowed: passes, taken, remaining, retryAfterUs, resetAfterUs: 0, reason };
      });
      return { now, allowed, outcomes, source: 'store', degraded: false };
    },
    giveBack: no,
    claim: no,
    extend: no,
    reset: no,
    ban: no,
    unban: no,
    ping: async () => void (await redis.ping()),
    close: async () => undefined,
  };
}
