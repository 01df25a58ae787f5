import { expect, it, afterEach } from 'vitest';
import { createLimiter, fixedWindow, slidingWindow, tokenBucket, quota } from '../src/index.js';
import type { Store, Limiter } from '../src/index.js';
import { fakeClock } from '../src/testing/index.js';
import { faultyStore } from './support/faulty-store.js';
import { passing, turn } from './support/limiters.js';
const open: any[] = [];
afterEach(async () => { for (const l of open.splice(0)) await l.close(); });
function over(rules: any, opt: any = {}) {
  const clock = fakeClock();
  const faulty = faultyStore(clock);
  const another = (): Limiter<any> => { const l = createLimiter({ store: faulty.store, clock, deadline: '50ms', fleetSize: 1, rules, onEvent: () => undefined, ...opt } as any); open.push(l); return l as any; };
  const advance = async (ms: number) => { clock.advance(ms * 1000); await turn(); };
  return { another, limiter: another(), faulty, clock, advance };
}
const day = (limit: number) => ({ limit: fixedWindow({ limit, window: '1d' }), mode: 'lease' });
async function warm(limiter: any, advance: any, ms: number) { for (let i = 0; i < ms; i++) { await limiter.check('api', 'k'); await advance(1); } }

import { systemClock } from '../src/clock.js';
it('D3 sync throw, garbage, unhandled', async () => {
  const unhandled: any[] = []; const on = (e: any) => unhandled.push(e); process.on('unhandledRejection', on);
  for (const mode of ['lease', 'auto', { sync: '20ms' }] as any) for (const kind of ['throw', 'reject', 'undef', 'empty', 'holes', 'nan', 'mixed', 'never']) {
    const inner = faultyStore(systemClock()); let n = 0; const T0 = performance.now();
    const decide = (g: any, t: any): any => { n++; const k = kind === 'mixed' ? ['throw', 'reject', 'ok', 'undef', 'holes', 'nan', 'ok'][n % 7] : n < 3 ? 'ok' : kind;
      switch (k) { case 'throw': throw new Error('x'); case 'reject': return Promise.reject(new Error('y')); case 'undef': return Promise.resolve(undefined); case 'empty': return Promise.resolve({ now: Date.now() * 1000, allowed: true, outcomes: [], source: 'store', degraded: false });
        case 'holes': return Promise.resolve({ now: Date.now() * 1000, allowed: true, outcomes: [null], source: 'store', degraded: false }); case 'nan': return Promise.resolve({ now: Date.now() * 1000, allowed: true, outcomes: [{}], source: 'store', degraded: false }); case 'never': return new Promise(() => {}); default: return inner.store.decide(g, t); } };
    const meet = (): any => { if (n % 2) throw new Error('m'); return Promise.reject(new Error('m2')); };
    const giveBack = (): any => { throw new Error('gb'); };
    const l = createLimiter({ store: { ...inner.store, decide, meet, giveBack } as any, deadline: '5ms', fleetSize: 1, rules: { api: { limit: tokenBucket({ capacity: 100, refill: '100/s' }), mode }, x: { limit: tokenBucket({ capacity: 100, refill: '100/s' }) } }, onEvent: () => undefined });
    const errs: any = {}; 
    for (let i = 0; i < 150; i++) { 
      const p = i % 10 === 9 ? l.checkAll([{ rule: 'api', key: 'k' }, { rule: 'x', key: 'k' }]) : l.check('api', 'k', { cost: 1 + i % 4 });
      if (i % 3 === 0) { try { const d: any = await p; if (Number.isNaN(d.remaining) || d.remaining === undefined) errs.nan = (errs.nan ?? 0) + 1; } catch (e) { errs[String(e)] = (errs[String(e)] ?? 0) + 1; } } else p.catch((e) => { errs[String(e)] = (errs[String(e)] ?? 0) + 1; });
      if (i % 30 === 0) await new Promise((r) => setTimeout(r, 25)); }
    const last = Array.from({ length: 20 }, () => l.check('api', 'k').catch((e) => { errs['last ' + String(e)] = 1; }));
    await l.close().catch((e) => { errs['close ' + String(e)] = 1; }); await Promise.all(last);
    console.log(JSON.stringify(mode), kind, Math.round(performance.now() - T0), errs, l.stats().unreturned);
  }
  await new Promise((r) => setTimeout(r, 100));
  process.off('unhandledRejection', on);
  expect(unhandled).toEqual([]);
}, 100000);
