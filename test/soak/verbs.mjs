import { setTimeout as sleep } from 'node:timers/promises';
import { below, percent, pick, weighted } from './chance.mjs';
import { isLong } from './rules.mjs';

const undoable = ['bucket', 'window', 'first', 'sliding', 'log', 'leased', 'leasedWindow', 'synced', 'syncedBucket', 'changing'];
const plans = [undefined, 'pro', 'trial', 'unknown'];

/**
 * What an app may do with a limiter, one function for each. `inForce()` is the limiter with the rules in force, asked for anew at each
 * step, as a holder may outlive the rules that let it in; `leaving` is one signal for the whole life of the process.
 */
export function verbs({ inForce, callers, counts, leaving }) {
  const keyFor = (rule) => (isLong(rule) ? callers.steady() : callers.any());
  const decided = (decision) => {
    counts.decided(decision);
    return decision;
  };
  const check = async (rule, key, options) => decided(await inForce().limiter.check(rule, key, options));

  async function abortable() {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(new Error('gone')), 1 + below(20));
    const { signal } = controller;
    try {
      decided(await inForce().limiter.acquire('queue', 'queue', { maxWait: '50ms', signal }));
    } catch (error) {
      if (error !== signal.reason) throw error;
      counts.did('aborted');
    } finally {
      clearTimeout(timer);
    }
  }

  const all = {
    check: () => {
      const rule = pick(inForce().names);
      return check(rule, keyFor(rule), { cost: percent(10) ? 2 : 1, ...(rule === 'planned' && { plan: pick(plans) }) });
    },
    refused: () => check('scarce', callers.full()),
    async group() {
      const { limiter, names } = inForce();
      const from = below(names.length);
      // Three of one client, and sometimes of different ones.
      const key = callers.any();
      const checks = [0, 1, 2].map((step) => {
        const rule = names[(from + step) % names.length];
        return { rule, key: isLong(rule) || percent(5) ? keyFor(rule) : key };
      });
      decided(await limiter.checkAll(checks));
    },
    async hold() {
      const holder = await check('jobs', callers.any());
      if (!holder.allowed) return;
      await sleep(5 + below(25));
      if (percent(20)) await inForce().limiter.extend(holder);
      await inForce().limiter.release(holder);
    },
    async reserve() {
      const { allowed, decision, settle, cancel } = await inForce().limiter.reserve('spend', callers.any(), { cost: 5 });
      decided(decision);
      if (!allowed) return;
      await sleep(below(10));
      await pick([() => settle(2), () => settle(5), () => settle(9), cancel])();
    },
    async refund() {
      const decision = await check(pick(undoable), callers.any());
      await inForce().limiter.refund(decision);
    },
    async receipt() {
      const { limiter } = inForce();
      const receipt = limiter.receipt(await check(pick(undoable), callers.any()));
      if (receipt === undefined) return;
      const portable = JSON.parse(JSON.stringify(receipt));
      await limiter.refund(portable);
      await limiter.refund(portable);
    },
    acquire: async () => decided(await inForce().limiter.acquire('queue', 'queue', { maxWait: '50ms', signal: leaving })),
    abort: abortable,
    peek: async () => {
      const rule = pick(inForce().names);
      decided(await inForce().limiter.peek(rule, keyFor(rule)));
    },
    async ban() {
      const rule = pick(undoable);
      const key = callers.any();
      await inForce().limiter.ban(rule, key, '1s');
      await check(rule, key);
      if (percent(50)) await inForce().limiter.unban(rule, key);
      if (percent(50)) await inForce().limiter.reset(rule, key);
    },
  };
  const next = weighted([
    [66, 'check'],
    [10, 'refused'],
    [7, 'group'],
    [5, 'hold'],
    [3, 'reserve'],
    [3, 'refund'],
    [1, 'receipt'],
    [1.5, 'acquire'],
    [1, 'abort'],
    [2, 'peek'],
    [0.2, 'ban'],
  ]);

  /** Does one of them, all of it. */
  return async () => {
    const verb = next();
    try {
      await all[verb]();
      counts.did(verb);
    } catch (error) {
      counts.failed(verb, error);
    }
  };
}
