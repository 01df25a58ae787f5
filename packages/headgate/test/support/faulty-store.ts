import { StoreError } from '../../src/errors.js';
import { layersOver } from '../../src/layers/index.js';
import { memoryStore } from '../../src/stores/memory.js';
import type { Clock, Group, GroupOutcome, Store, Ticket } from '../../src/index.js';

/** What becomes of a decide call. */
export type Fate = 'answer' | 'fail' | 'lose' | 'hold';

/**
 * A shared store whose calls go as the test says: `answer`; `fail` before anything was sent; `lose` the connection after it was
 * counted; `hold` until `release()`, decided by then.
 */
export function faultyStore(clock: Clock) {
  const inner = memoryStore({ clock });
  let held: (() => void)[] = [];
  let fate: (group: Group) => Fate = () => 'answer';
  let asked: Group[] = [];
  const returned: number[] = [];

  async function decide(group: Group, ticket?: Ticket): Promise<GroupOutcome> {
    asked.push(group);
    const now = fate(group);
    if (now === 'fail') throw new StoreError('away');
    if (ticket) ticket.sent = true;
    if (now === 'hold') await new Promise<void>((resolve) => held.push(resolve));
    const answer = await inner.decide(group);
    if (now === 'lose') throw new StoreError('connection lost');
    return answer;
  }

  const store: Store = {
    layers: layersOver,
    decide,
    async giveBack(item) {
      const units = await inner.giveBack(item);
      returned.push(units);
      return units;
    },
    claim: inner.claim,
    extend: inner.extend,
    reset: inner.reset,
    ban: inner.ban,
    unban: inner.unban,
    ping: inner.ping,
    close: inner.close,
  };
  return {
    store,
    /** The shared counters, as another process would use them. */
    shared: inner,
    returned,
    goes(next: Fate | ((group: Group) => Fate)): void {
      fate = typeof next === 'function' ? next : () => next;
    },
    release(): void {
      for (const resolve of held.splice(0)) resolve();
      held = [];
    },
    /** The groups asked for since the last call. */
    asked(): Group[] {
      const since = asked;
      asked = [];
      return since;
    },
  };
}
