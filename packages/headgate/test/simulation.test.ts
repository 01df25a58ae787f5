import { it } from 'vitest';
import { run } from './simulation/run.js';
it('x', async () => {
  const from = Number(process.env['FROM'] ?? 1),
    n = Number(process.env['N'] ?? 10);
  const t = performance.now();
  const worst = new Map<string, [number, number]>();
  const by = new Map<string, number[]>();
  for (let seed = from; seed < from + n; seed++) {
    const r = await run(seed);
    for (const m of r.measures) {
      const q = m.admitted / Math.max(m.bound, 1e-9);
      const id = m.key + '|' + m.promise;
      if (q > (worst.get(id)?.[0] ?? 0)) worst.set(id, [q, seed]);
    }
    for (const b of r.broken) {
      by.set(b.key, [...(by.get(b.key) ?? []), seed]);
      if (process.env['V']) console.log(seed, JSON.stringify(b));
    }
    if (seed === from)
      console.log(
        r.fingerprint,
        r.history.checks,
        r.history.refused,
        r.history.storeCalls,
        performance.now() - t,
        [...r.history.keys.values()].map((k) => k.spec.name + ':' + k.admitted.length).join(' '),
      );
  }
  console.log([...worst].map(([k, [q, s]]) => `${k} ${q.toFixed(4)} @${s}`).join('\n'));
  console.log([...by].map(([k, s]) => `${k}: ${s.length} ${[...new Set(s)].slice(0, 20).join(',')}`).join('\n'));
  console.log('ms', performance.now() - t);
}, 600000);
