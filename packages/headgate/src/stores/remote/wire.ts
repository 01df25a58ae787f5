import { StoreError, errorCodes, type ErrorCode } from '../../errors.js';
import type { CountedLimit } from '../../limit.js';
import type { Beat, Check, GiveBack, Group, GroupOutcome, Meeting, Outcome, Receipt, Target } from '../store.js';

/** Of what is written below; raised when a service of an earlier one could no longer read it. */
const version = 1;

/** One operation on the store of a service. */
export type Operation =
  | ({ readonly op: 'decide' } & Group)
  | ({ readonly op: 'giveBack' } & GiveBack)
  | { readonly op: 'claim'; readonly receipt: Receipt; readonly onceId: string }
  | { readonly op: 'extend'; readonly receipt: Receipt }
  | ({ readonly op: 'reset' | 'unban' } & Target)
  | ({ readonly op: 'ban'; readonly us: number } & Target)
  | ({ readonly op: 'beat' } & Beat)
  | ({ readonly op: 'meet' } & Meeting)
  | { readonly op: 'ping' };

/** The body for some operations: each limit is written once, and named by its place. */
export function encodeOperations(operations: readonly Operation[]): string {
  const limits: CountedLimit[] = [];
  const places = new Map<CountedLimit, number>();
  const placeOf = (limit: CountedLimit): number => {
    let place = places.get(limit);
    if (place === undefined) {
      place = limits.push(limit) - 1;
      places.set(limit, place);
    }
    return place;
  };
  // What layers add to a check stays here.
  const checkOf = ({ rule, key, limit, cost, least, aheadUs, countRefused, shadow, holder }: Check): object => ({
    ...{ rule, key, limit: placeOf(limit), cost, least, aheadUs, countRefused, shadow, holder },
  });
  const receiptOf = ({ rule, key, limit, taken, takenAt, windowEnd, holder, fill }: Receipt): object => ({
    ...{ rule, key, limit: placeOf(limit), taken, takenAt, windowEnd, holder, fill },
  });
  const ops = operations.map((operation): object => {
    if (operation.op === 'decide') return { op: operation.op, checks: operation.checks.map(checkOf), dry: operation.dry };
    return 'receipt' in operation ? { ...operation, receipt: receiptOf(operation.receipt) } : operation;
  });
  return JSON.stringify({ v: version, limits, ops });
}

/** What was asked was not carried out, and will not be. */
export class NotDoneError extends Error {}

/** Whether an error of this store means that nothing was counted. */
export const wasNotDone = (error: unknown): boolean =>
  error instanceof NotDoneError || (error instanceof Error && error.cause instanceof NotDoneError);

function errorOf({ code, message, done }: { code?: unknown; message?: unknown; done?: unknown }): StoreError {
  const known = typeof code === 'string' && Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : 'HEADGATE_STORE';
  const cause = done === false ? new NotDoneError('the service did not carry it out') : undefined;
  return new StoreError(typeof message === 'string' ? message : 'the service did not carry it out', { code: known, cause });
}

/** What the service said of each operation: a value, or an error of that one alone. @throws StoreError if it is no such answer */
export function decodeAnswers(body: unknown, count: number): readonly unknown[] {
  const { v, answers } = (typeof body === 'object' && body !== null ? body : {}) as { v?: unknown; answers?: unknown };
  if (v !== version || !Array.isArray(answers) || answers.length !== count)
    throw new StoreError('the service answered with something that is no answer to these operations; is it a Headgate of this version?');
  return answers.map((answer: unknown) => {
    const { ok, error } = (answer ?? {}) as { ok?: unknown; error?: object };
    return error === undefined ? ok : errorOf(error);
  });
}

/** Without end, as JSON has it. */
const orInfinity = (value: number | null): number => value ?? Number.POSITIVE_INFINITY;

/** A decision, as JSON has it; whether it is one, the guard finds out. */
export function decodeDecision(value: unknown): GroupOutcome {
  const decided = value as GroupOutcome | null;
  const outcomes = decided?.outcomes;
  if (!Array.isArray(outcomes)) throw new StoreError('the service answered with something that is no decision');
  return {
    now: decided?.now ?? Number.NaN,
    allowed: decided?.allowed === true,
    outcomes: (outcomes as Outcome[]).map((outcome) => ({
      ...outcome,
      remaining: orInfinity(outcome.remaining),
      retryAfterUs: orInfinity(outcome.retryAfterUs),
      resetAfterUs: orInfinity(outcome.resetAfterUs),
    })),
    source: 'store',
    degraded: false,
  };
}
