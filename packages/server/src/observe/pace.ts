/** What is kept: one number for each step of an hour. */
const size = 360;
/** Of a hundred minutes, how many may be quieter than what is called quiet: a short gap is not what is usual. */
const quieter = 10;

/** How many different keys the minutes of the last hour had, one after another in steps. 1.4 KiB. */
export class Pace {
  readonly #keys = new Uint32Array(size);
  #first = 0;
  /** The step after the last; 0 before there is one. */
  #next = 0;

  /** The minute that ended with this step had so many. Steps go up; those left out had none. */
  record(step: number, keys: number): void {
    if (this.#next === 0) this.#first = this.#next = step;
    this.#skipTo(step);
    this.#keys[step % size] = keys;
    this.#next = step + 1;
  }

  /** As few as a quiet minute before this step had: one in ten had fewer. Undefined if none is known. */
  quiet(step: number): number | undefined {
    if (this.#next === 0) return undefined;
    this.#skipTo(step);
    const known: number[] = [];
    for (let at = Math.max(this.#first, this.#next - size); at < this.#next; at += 1) known.push(this.#keys[at % size] ?? 0);
    return known.sort((a, b) => a - b)[Math.floor((known.length * quieter) / 100)];
  }

  #skipTo(step: number): void {
    for (let at = Math.max(this.#next, step - size); at < step; at += 1) this.#keys[at % size] = 0;
    this.#next = Math.max(this.#next, step);
  }
}
