import {
  StoreError,
  systemClock,
  type Beat,
  type GiveBack,
  type Group,
  type Meeting,
  type Receipt,
  type Store,
  type Target,
  type Ticket,
} from 'headgate';
import { rollCall } from './roll-call.js';

/** One operation of a program that uses the service as its store. */
export type Operation =
  | { readonly op: 'decide'; readonly group: Group }
  | { readonly op: 'giveBack'; readonly item: GiveBack }
  | { readonly op: 'claim'; readonly receipt: Receipt; readonly onceId: string }
  | { readonly op: 'extend'; readonly receipt: Receipt }
  | { readonly op: 'reset' | 'unban'; readonly target: Target }
  | { readonly op: 'ban'; readonly target: Target; readonly us: number }
  | { readonly op: 'beat'; readonly beat: Beat }
  | { readonly op: 'meet'; readonly meeting: Meeting }
  | { readonly op: 'ping' };

/** What became of it: a value, or an error of this operation alone. `done: false`: it was not carried out, and will not be. */
export type Result =
  { readonly ok: unknown } | { readonly error: { readonly code: string; readonly message: string; readonly done?: false } };

export type RunOperations = (operations: readonly Operation[]) => Promise<readonly Result[]>;

/** Who asked has given up by then: the deadline of a decision is shorter, and that of other verbs is a second. */
const patienceMs = 2000;

interface Patience {
  readonly over: Promise<never>;
  end(): void;
}

function patience(tickets: readonly Ticket[]): Patience {
  let end = (): void => undefined;
  const over = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => {
      for (const ticket of tickets) ticket.cancelled = true;
      reject(new StoreError('the store of the service did not answer'));
    }, patienceMs);
    end = () => clearTimeout(timer);
  });
  over.catch(() => undefined);
  return { over, end };
}

/**
 * Operations on the service's counters, for `remoteStore`. They are carried out on the store itself, without notes, fallback or any rule of
 * the service: these layers are around the store of who asks, and a store says what it does not know. Never rejects.
 */
export function storeOperations(store: Store): RunOperations {
  const present = rollCall(systemClock().nowUs);

  function run(operation: Operation, ticket: Ticket): Promise<unknown> {
    switch (operation.op) {
      case 'decide':
        return store.decide(operation.group, ticket);
      case 'giveBack':
        return store.giveBack(operation.item);
      case 'claim':
        return store.claim(operation.receipt, operation.onceId);
      case 'extend':
        return store.extend(operation.receipt);
      case 'reset':
        return store.reset(operation.target);
      case 'unban':
        return store.unban(operation.target);
      case 'ban':
        return store.ban(operation.target, operation.us);
      case 'beat':
        return store.beat?.(operation.beat) ?? here(operation.beat);
      case 'meet':
        return store.meet?.(operation.meeting) ?? meetHere(operation.meeting);
      case 'ping':
        return store.ping();
    }
  }

  const here = async ({ member, forUs }: Beat): Promise<unknown> => ({ members: Math.max(1, present('', member, forUs)), strangers: 0 });
  const meetHere = async ({ keys, member, forUs }: Meeting): Promise<unknown> =>
    keys.map(({ rule, key }) => present(`${rule}\n${key}`, member, forUs));

  async function resultOf(operation: Operation, ticket: Ticket, over: Promise<never>): Promise<Result> {
    try {
      return { ok: (await Promise.race([run(operation, ticket), over])) ?? null };
    } catch (error) {
      const { code, message } = error instanceof StoreError ? error : new StoreError('the store of the service did not carry it out');
      return { error: { code, message, ...(operation.op === 'decide' && !ticket.sent && { done: false }) } };
    }
  }

  return async (operations) => {
    // One for each: what was not sent is known of each.
    const asked = operations.map((operation) => ({ operation, ticket: { cancelled: false, sent: false } }));
    const { over, end } = patience(asked.map(({ ticket }) => ticket));
    const results = await Promise.all(asked.map(({ operation, ticket }) => resultOf(operation, ticket, over)));
    end();
    return results;
  };
}
