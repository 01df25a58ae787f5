import { limitOf, type Decision, type Limiter } from '../index.js';
import type { CountWhen, Ending } from './types.js';

const succeeded = ({ status, aborted }: Ending): boolean => !aborted && status < 400;

function counts(countWhen: CountWhen, ending: Ending): boolean {
  // Else who leaves before the answer comes would use for nothing.
  if (ending.aborted || countWhen === 'always') return true;
  if (typeof countWhen === 'function') return countWhen(ending);
  return succeeded(ending) === (countWhen === 'success');
}

type Action = (ending: Ending) => Promise<unknown> | undefined;

/** What is done with a decision when the response has ended; undefined if nothing ever is. */
function actionOf(limiter: Limiter, decision: Decision, countWhen: CountWhen): Action | undefined {
  switch (limitOf(decision).kind) {
    case 'concurrency':
      return () => limiter.release(decision);
    case 'consecutiveFailures':
      // Failures are what counts here; only a success forgets them.
      return (ending) => {
        if (succeeded(ending)) return limiter.outcome(decision, 'success');
        return counts(countWhen, ending) ? undefined : limiter.refund(decision);
      };
    case 'unlimited':
      return undefined;
    default:
      if (countWhen === 'always') return undefined;
      return (ending) => (counts(countWhen, ending) ? undefined : limiter.refund(decision));
  }
}

/** What is to be called once when the response has ended; undefined if there is nothing to do then. Never throws. */
export function atTheEnd(
  limiter: Limiter,
  { checks, decisions }: { readonly checks: readonly { readonly countWhen: CountWhen }[]; readonly decisions: readonly Decision[] },
  warn: (message: string) => void,
): ((ending: Ending) => void) | undefined {
  // Most have nothing to do at the end, and so not even a list of it.
  let actions: Action[] | undefined;
  for (let index = 0; index < decisions.length; index += 1) {
    const [decision, check] = [decisions[index], checks[index]];
    const action = decision === undefined || check === undefined ? undefined : actionOf(limiter, decision, check.countWhen);
    if (action !== undefined) (actions ??= []).push(action);
  }
  return actions && once(actions, warn);
}

function once(actions: readonly Action[], warn: (message: string) => void): (ending: Ending) => void {
  const failed = (error: unknown): void => warn(`counting by outcome failed, so the request counts: ${String(error)}`);
  let ended = false;
  return (ending) => {
    if (ended) return;
    ended = true;
    for (const action of actions) {
      try {
        action(ending)?.catch(failed);
      } catch (error) {
        failed(error);
      }
    }
  };
}
