import type { SourceState } from '../rules/source-state.js';

/** Whether requests should come here. */
export interface Readiness {
  readonly ready: boolean;
  /** Why not. */
  readonly why?: string;
  /** It is not for the store: the server ends. */
  readonly stopping?: true;
  /** Shards that do not answer, by name; absent where there are none. */
  readonly unavailable?: readonly string[];
  /** The rules in force, which are used whether or not their source can be read. */
  readonly rules?: SourceState;
}

export type AskReady = () => Promise<Readiness>;

/** One of several servers that share the keys. */
export interface Shard {
  readonly name: string;
  readonly ping: () => Promise<void>;
}

/** Those who ask wait a second at most (Kubernetes by default): one silent shard must not make the answer late. */
const patienceMs = 500;

/** With one store: ready while it answers. `ask` rejects if it does not. */
export const readyWithStore =
  (ask: () => Promise<void>): AskReady =>
  () =>
    ask().then(
      () => ({ ready: true }),
      (error: unknown) => ({ ready: false, why: error instanceof Error ? error.message : 'the store does not answer' }),
    );

/** Whether it answers in time: a server that is stopped leaves a ping open. */
function answers({ ping }: Shard): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), patienceMs);
    ping()
      .then(
        () => resolve(true),
        () => resolve(false),
      )
      .finally(() => clearTimeout(timer));
  });
}

/**
 * With shards: ready while any answers. One of eight that is down concerns an eighth of the keys, and a load balancer could only make
 * more of it.
 */
export function readyWithShards(shards: readonly Shard[]): AskReady {
  return async () => {
    const asked = await Promise.all(shards.map(async (shard) => ({ name: shard.name, well: await answers(shard) })));
    const unavailable = asked.flatMap(({ name, well }) => (well ? [] : [name]));
    if (unavailable.length === shards.length) return { ready: false, why: `no shard answers: ${unavailable.join(', ')}`, unavailable };
    return { ready: true, unavailable };
  };
}

/** The same, with the state of the rules. */
export const tellingRules =
  (ask: AskReady, rules: () => SourceState): AskReady =>
  async () => ({ ...(await ask()), rules: rules() });
