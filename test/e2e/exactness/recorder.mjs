import { table } from './rules.mjs';

/** Writes down what a process asked and was answered. */
export class Recorder {
  decisions = [];
  corrections = [];
  #process;
  #asked = 0;
  /** The latest moment of the store's clock that an answer has shown. */
  #seen = 0;
  /** Corrections that are done, and that no decision asked since has bracketed. */
  #open = [];

  constructor(process) {
    this.#process = process;
  }

  async decide(kind, asked, call) {
    const id = this.#process * 1e7 + (this.#asked += 1);
    const after = this.#seen;
    const specs = asked.map(({ rule, plan }) => table[rule].plans?.[plan] ?? table[rule].limit);
    // What no store sees has this process's time, which says nothing about the store's.
    const timed = specs.some((spec) => spec.kind !== 'unlimited');
    const closing = timed ? this.#open : [];
    if (timed) this.#open = [];
    const answer = await call(asked);
    const decisions = answer.decisions ?? [answer];
    const { decidedAt } = decisions[0];
    if (timed) this.#seen = Math.max(this.#seen, decidedAt);
    for (const record of closing) record.before = decidedAt;
    const checks = decisions.map(({ rule, key, cost, allowed, remaining, retryAfterMs, reason, degraded }, i) => {
      return { rule, key, limit: specs[i], cost, allowed, remaining, retryAfterMs, reason, degraded };
    });
    this.decisions.push({ id, kind, allowed: answer.allowed, decidedAt, after, checks });
    return { id, allowed: answer.allowed, decisions };
  }

  async correct(what, call) {
    const record = { ...what, done: 0, after: this.#seen, before: 0 };
    record.done = await call();
    this.corrections.push(record);
    this.#open.push(record);
  }

  history() {
    return { decisions: this.decisions, corrections: this.corrections };
  }
}
