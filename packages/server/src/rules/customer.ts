/** Who is asked about: a rule's key, the plan that the request brings, and other names the customer goes by. */
export interface Customer {
  readonly rule: string;
  readonly key: string;
  /** As the request says it; goes before the one that is stored. */
  readonly plan?: string | undefined;
  /** Where the plan is looked up too, if it is not by the key: an account, an API key. */
  readonly names?: readonly string[];
  /** The client's address, for exemptions; where it is not known, the key of a rule that counts by addresses is. */
  readonly address?: string | undefined;
}

/** Stands for all rules. */
export const everyRule = '*';

export interface Ending {
  /** Milliseconds since 1970; null: no end. */
  readonly until: number | null;
}

export const holds = ({ until }: Ending, now: number): boolean => until === null || until > now;
