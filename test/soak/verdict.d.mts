// Types of what the test plants; the run itself is plain JavaScript.

export interface Counts {
  readonly sources: Readonly<Record<string, number>>;
  readonly verbs: Readonly<Record<string, number>>;
  readonly events: Readonly<Record<string, number>>;
  readonly errors: { readonly count: number; readonly texts: readonly string[] };
  readonly degraded: readonly (readonly [at: number, count: number])[];
  readonly away: readonly (readonly [at: number, count: number])[];
  readonly stalls: readonly Span[];
}
export interface Span {
  readonly from: number;
  readonly until: number;
}
export interface Sample {
  readonly atMs: number;
  readonly processes: readonly {
    readonly figures: Readonly<Record<string, number | Readonly<Record<string, number>>>>;
    readonly counts: Counts;
  }[];
  readonly redis: Readonly<Record<string, number>>;
  readonly disturbance: Span & { readonly cause: string };
  readonly slow: readonly Span[];
}
export interface Run {
  readonly samples: readonly Sample[];
  readonly totalMs: number;
  readonly ended: { readonly counts: readonly Counts[]; readonly byThemselves: boolean };
  readonly left: {
    readonly afterMs: number;
    readonly found: readonly { readonly rule: string; readonly count: number; readonly longestMs: number; readonly forEver: number }[];
  };
}
export function judge(run: Run): {
  readonly ok: boolean;
  readonly rows: readonly { readonly what: string; readonly ok: boolean }[];
  readonly causes: readonly { readonly name: string; readonly degraded: number }[];
  readonly faults: readonly string[];
};
