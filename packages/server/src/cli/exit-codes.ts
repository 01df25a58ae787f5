/** What the process ends with; the numbers are those of sysexits(3). */
export const exitCodes = { ok: 0, failed: 1, usage: 64, config: 78 } as const;
