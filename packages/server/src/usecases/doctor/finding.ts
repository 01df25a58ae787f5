/** From the best to the worst. `unknown`: it could not be read, which says nothing against the server. */
export const severities = ['ok', 'info', 'unknown', 'warning', 'error'] as const;
export type Severity = (typeof severities)[number];

/** One thing that was looked at, and what to do about it. */
export interface Finding {
  /** Stable, in kebab-case: what programs look for. */
  readonly id: string;
  readonly severity: Severity;
  /** The shard's name, where there are several Redis by name. */
  readonly shard?: string;
  /** `host:port`; absent if it is about the whole. */
  readonly node?: string;
  readonly found: string;
  /** Why it matters for rate limits; empty if all is well. */
  readonly why: string;
  /** The command or setting that mends it; empty if nothing is to be done. */
  readonly mend: string;
}

export const ok = (id: string, found: string): Finding => ({ id, severity: 'ok', found, why: '', mend: '' });

/** What could not be read, and by which fault. */
export const unread = (id: string, what: string): Finding => ({
  id,
  severity: 'unknown',
  found: `could not read ${what}`,
  why: '',
  mend: '',
});

export function worstOf(findings: readonly Finding[]): Severity {
  return severities[Math.max(0, ...findings.map(({ severity }) => severities.indexOf(severity)))] ?? 'ok';
}

/** The worst first; else in the order in which they were found. */
export function byWorst(findings: readonly Finding[]): Finding[] {
  return [...findings].sort((a, b) => severities.indexOf(b.severity) - severities.indexOf(a.severity));
}

export const plural = (count: number, one: string, many = `${one}s`): string => `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

/** `1.5 GiB`: for people; never for a command. */
export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(count < 1 ? 0 : Math.floor(Math.log2(count) / 10), units.length - 1);
  const value = count / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power] ?? 'B'}`;
}

/** `90 s`, `15 min`, `3 h`, `12 days`. */
export function seconds(count: number): string {
  if (count < 120) return `${Math.round(count)} s`;
  if (count < 7200) return `${Math.round(count / 60)} min`;
  return count < 172_800 ? `${Math.round(count / 3600)} h` : `${Math.round(count / 86_400)} days`;
}
