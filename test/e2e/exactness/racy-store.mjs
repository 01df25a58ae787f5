// The algorithms themselves are right: what is wrong with this store is only that reading and writing are two steps. They are no part of
// the public surface, so this test reaches into the build.
import { algorithmOf } from '../../../packages/headgate/dist/algorithms/index.js';
import { outcomeOf, passes } from '../../../packages/headgate/dist/stores/outcome.js';

/** A Store as many are written: GET, decide here, SET. The checker has to find out. */
export function racyStore(redis) {
  const no = () => Promise.reject(new Error('the racy store only decides'));
  return {
    async decide({ checks, dry }) {
      const names = checks.map(({ rule, key, limit }) => `racy:${rule}:${key}:${limit.kind}`);
      const [[, [seconds, us]], [, values]] = await redis.pipeline().time().mget(names).exec();
      const now = Number(seconds) * 1e6 + Number(us);
      const before = checks.map(({ limit }, i) =>
        algorithmOf(limit.kind).current(values[i] ? JSON.parse(values[i]) : undefined, limit, now),
      );
      const steps = checks.map((check, i) => algorithmOf(check.limit.kind).take({ ...check, state: before[i], now }));
      const allowed = passes(
        { checks },
        steps.map((step) => step.allowed),
      );
      const takes = allowed && !dry;
      if (takes) {
        const writes = redis.pipeline();
        steps.forEach((step, i) => writes.set(names[i], JSON.stringify(step.state), 'PX', 3_600_000));
        await writes.exec();
      }
      const outcomes = checks.map((check, i) => {
        const view = algorithmOf(check.limit.kind).view(takes ? steps[i].state : before[i], check.limit, now, check.cost);
        return outcomeOf({ check, cost: check.cost, now, view, allowed: steps[i].allowed, taken: takes ? steps[i].taken : 0 });
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
