import { createLimiter, memoryStore, quota, type Clock, type Decision, type Limit } from 'headgate';

/** When the period of a quota's decision ends, in milliseconds since 1970: whole seconds, as all borders of periods are. */
export const periodEndOf = ({ decidedAt, resetAfterMs }: Decision): number => Math.round((decidedAt / 1000 + resetAfterMs) / 1000) * 1000;

/** The same, also where nothing is used: such a decision does not tell, so another quota of the same periods is asked. */
export async function trueEndOf(decision: Decision, limit: Limit): Promise<number> {
  if (decision.resetAfterMs > 0 || limit.kind !== 'quota') return periodEndOf(decision);
  const { period, timeZone, billingDay } = limit;
  const clock: Clock = { nowUs: () => decision.decidedAt, after: () => () => undefined };
  const limiter = createLimiter({
    store: memoryStore({ clock }),
    clock,
    rules: { alike: { limit: quota({ limit: 1, period, timeZone, billingDay }) } },
  });
  const asked = await limiter.check('alike', 'any');
  await limiter.close();
  return periodEndOf(asked);
}
