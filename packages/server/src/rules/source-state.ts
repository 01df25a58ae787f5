/** What is in force, and how its source stands to it. */
export interface SourceState {
  /** Undefined: a file has none. */
  readonly version: number | undefined;
  /** `disk`: the copy that is kept of a database. */
  readonly from: 'file' | 'database' | 'disk';
  /** Milliseconds since it was read, or found to be the same, last; of a copy that was never compared, since that was written. */
  readonly ageMs: number;
  /** Whether the source could be read when it was last looked at. */
  readonly reachable: boolean;
}
