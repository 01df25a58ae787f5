/** What a limiter tells of itself, apart from decisions: changes of state, once each. */
export interface LimiterEvent {
  /**
   * - `unavailable`: a store, or one of its shards, is asked no more for now; decisions are made without it
   * - `available`: it is in use again
   * - `fleet-unknown`: a decision was made without the store, and how many processes share it is not known
   * - `limit-below-fleet`: rules whose limit is smaller than the fleet: without the store each process still lets one unit pass
   * - `shards-differ`: another process spreads its keys over other shards, so that limits do not hold
   */
  readonly type: 'unavailable' | 'available' | 'fleet-unknown' | 'limit-below-fleet' | 'shards-differ';
  /** The shard's name; undefined where there is only one store, or it is about all. */
  readonly shard?: string;
  /** For people: what happened, and the mend if there is one. */
  readonly message: string;
}

export type OnEvent = (event: LimiterEvent) => void;

/** What is done with events if the user says nothing: Node's own way for libraries to warn. */
export const warn: OnEvent = ({ type, message }) => {
  process.emitWarning(message, { type: 'HeadgateWarning', code: `HEADGATE_${type.toUpperCase().replaceAll('-', '_')}` });
};
