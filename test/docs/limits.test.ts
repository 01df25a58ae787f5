import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as headgate from 'headgate';
import { createLimiter, memoryStore, type Limit } from 'headgate';
import { fakeClock } from 'headgate/testing';
import { describe, expect, it } from 'vitest';

const text = readFileSync(join(import.meta.dirname, '../../docs/limits.md'), 'utf8');

/** Sections with a limit and the checks that are promised of it. */
const sections = text.split(/^## /m).flatMap((section) => {
  const [, code] = /const limit = (.*);/.exec(section) ?? [];
  if (code === undefined) return [];
  const rows = [...section.matchAll(/^\| ([\d.]+) \| (\d+) \| (\d+) \|$/gm)].map((row) => row.slice(1).map(Number));
  return [{ title: section.split('\n')[0] ?? '', code, rows }];
});

const limitOf = (code: string): Limit => new Function(...Object.keys(headgate), `return ${code}`)(...Object.values(headgate)) as Limit;

describe('the worked numbers of docs/limits.md', () => {
  it('are there for each limit that counts', () => {
    const kinds = sections.map(({ code }) => limitOf(code).kind);
    expect(kinds).toEqual(['tokenBucket', 'fixedWindow', 'slidingWindow', 'slidingLog', 'quota', 'concurrency', 'consecutiveFailures']);
    for (const { title, rows } of sections) expect(rows.length, title).toBeGreaterThan(2);
  });

  it.each(sections)('hold: $title', async ({ code, rows }) => {
    // 2026-01-01T00:00Z.
    const clock = fakeClock();
    const startUs = clock.nowUs();
    const limiter = createLimiter({ store: memoryStore({ clock }), clock, rules: { limit: { limit: limitOf(code) } } });
    const seen: number[][] = [];
    for (const [second = 0, checks = 0] of rows) {
      clock.advance(startUs + second * 1_000_000 - clock.nowUs());
      let passed = 0;
      for (let index = 0; index < checks; index += 1) if ((await limiter.check('limit', 'key42')).allowed) passed += 1;
      seen.push([second, checks, passed]);
    }
    expect(seen).toEqual(rows);
  });
});
