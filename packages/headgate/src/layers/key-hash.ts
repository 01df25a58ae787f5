/** What a key's budget is told apart by. */
export interface Place {
  readonly rule: string;
  readonly key: string;
  readonly limit: { readonly kind: string };
}

/** Where keys are in a table that keeps no keys: FNV-1a (32 bits) twice in one pass. */
export class KeyHash {
  /** Of the key looked at last: tells it from others that share its place. */
  print = 0;
  /** Of the rule and the kind looked at last, which are mostly those of the next. */
  #rule = '';
  #kind = '';
  #ruleHash = 0;
  #rulePrint = 0;

  /** The place of a key among so many, a power of two. */
  placeOf({ rule, key, limit }: Place, places: number): number {
    if (rule !== this.#rule || limit.kind !== this.#kind) this.#begin(rule, limit.kind);
    let hash = this.#ruleHash;
    let print = this.#rulePrint;
    for (let i = 0; i < key.length; i += 1) {
      const unit = key.charCodeAt(i);
      hash = Math.imul(hash ^ unit, 0x01000193);
      print = Math.imul(print ^ unit, 0x5bd1e995);
    }
    this.print = (print ^ hash) >>> 0;
    return (hash ^ (hash >>> 15)) & (places - 1);
  }

  #begin(rule: string, kind: string): void {
    // No two kinds share both.
    let hash = 0x811c9dc5 ^ (kind.length << 8) ^ kind.charCodeAt(0);
    let print = 0x2f0b4c47;
    for (let i = 0; i < rule.length; i += 1) {
      const unit = rule.charCodeAt(i);
      hash = Math.imul(hash ^ unit, 0x01000193);
      print = Math.imul(print ^ unit, 0x5bd1e995);
    }
    this.#rule = rule;
    this.#kind = kind;
    this.#ruleHash = hash;
    this.#rulePrint = print;
  }
}
