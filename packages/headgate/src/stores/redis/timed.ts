/** One script call that decided checks, once its reply was there or it had failed. */
export interface RedisCall {
  /** The server's name in `clients`; `'store'` if there is only one. */
  readonly shard: string;
  /** From sending to having read the reply, in milliseconds. */
  readonly ms: number;
  /** False if Redis answered with an error, or the connection was lost. */
  readonly ok: boolean;
}

export type OnCall = (call: RedisCall) => void;

/** A listener that throws must not become a decision that fails. */
function quietly(onCall: OnCall): OnCall {
  return (call) => {
    try {
      onCall(call);
    } catch (error) {
      process.emitWarning(`onCall threw: ${String(error)}`, { type: 'HeadgateWarning' });
    }
  };
}

/** The same calls, each told of; those of nobody's interest are not measured. */
export function timed<A, T>(run: (asked: A) => Promise<T>, shard: string, onCall: OnCall | undefined): (asked: A) => Promise<T> {
  if (onCall === undefined) return run;
  const tell = quietly(onCall);
  return (asked) => {
    const began = performance.now();
    const done = (ok: boolean): void => tell({ shard, ms: performance.now() - began, ok });
    const answer = run(asked);
    answer.then(
      () => done(true),
      () => done(false),
    );
    return answer;
  };
}
