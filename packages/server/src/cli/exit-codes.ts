/**
 * What the process ends with; from 64 on the numbers are those of sysexits(3). `headgate doctor` ends with `warnings` or `errors`
 * by the worst that it found, and with `unavailable` if no server could be asked.
 */
export const exitCodes = { ok: 0, failed: 1, warnings: 1, errors: 2, usage: 64, unavailable: 69, software: 70, config: 78 } as const;
