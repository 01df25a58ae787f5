import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('the demonstration shows 2,400 with a counter each, 37 with split limits, and 300 with Headgate however it is asked', () => {
  const run = join(import.meta.dirname, '../../examples/demo/run.mjs');
  const printed = execFileSync(process.execPath, [run], { encoding: 'utf8' });
  const passed = [...printed.matchAll(/^.*\S +\d+ +(\d+) +\d+$/gm)].map(([, number]) => Number(number));
  expect(passed).toEqual([2400, 37, 300, 300, 300]);
  expect(printed).toContain('without the shared store: 0');
}, 300_000);
