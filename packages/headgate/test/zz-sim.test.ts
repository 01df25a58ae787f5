import { it, expect } from 'vitest';
import { run } from './simulation/run.js';
it('more seeds', async () => {
  const broken: string[] = [];
  for (let seed = 1501; seed <= 1900; seed += 1) { const r = await run(seed); for (const b of r.broken) { broken.push(`${seed} ${JSON.stringify(b)}`); console.log(broken.at(-1)); } }
  expect(broken).toEqual([]);
}, 3_000_000);
