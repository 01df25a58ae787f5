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
it('D1 deadline of leased checks', async () => {
  const clock = systemClock();
  const faulty = faultyStore(clock);
  const store: Store = { ...faulty.store, decide: async (g, t) => { if (t) t.sent = true; const a = await faulty.shared.decide(g); await new Promise((r) => setTimeout(r, 80)); return a; } };
  const l = createLimiter({ store, deadline: '100ms', fleetSize: 1, rules: { api: { limit: fixedWindow({ limit: 1000, window: '1d' }), mode: 'lease' } }, onEvent: () => undefined });
  const exact = l.withRules({ api: { limit: fixedWindow({ limit: 1000, window: '1d' }) } });
  open.push(l);
  const first = l.check('api', 'k');
  await new Promise((r) => setTimeout(r, 5));
  const worst: any[] = [];
  await Promise.all([30, 30, 30, 30].map(async (cost, i) => { await new Promise((r) => setTimeout(r, i * 15)); const t = performance.now(); const d = await l.check('api', 'k', { cost }); worst.push([Math.round(performance.now() - t), d.source, d.allowed, d.degraded]); }));
  const t = performance.now(); const e = await exact.check('api', 'k'); console.log('exact', performance.now() - t, e.degraded);
  console.log(JSON.stringify(worst));
  expect(Math.max(...worst.map((w) => w[0]))).toBeLessThan(115);
});
it('D2 fuzz promise 7 and exactness, one process', async () => {
  const limits: any = {
    bucket: tokenBucket({ capacity: 50, refill: '20/s' }), fast: tokenBucket({ capacity: 20, refill: '200/s' }), big: tokenBucket({ capacity: 1000, refill: '300/s' }),
    fixed: fixedWindow({ limit: 60, window: '3s' }), first: fixedWindow({ limit: 60, window: '3s', from: 'first-request' } as any), sliding: slidingWindow({ limit: 60, window: '3s' }),
    tiny: fixedWindow({ limit: 5, window: '20ms' }), hour: quota({ limit: 100, period: 'hour' } as any), slidingBig: slidingWindow({ limit: 2000, window: '2s' }),
  };
  const sum: any = {};
  let rnd = 42; const r = () => ((rnd = (rnd * 1103515245 + 12345) % 2147483648) / 2147483648);
  for (const mode of ['lease', 'auto', { sync: '100ms' }] as any) for (const name of Object.keys(limits)) {
    if (typeof mode === 'object' && (name === 'tiny' || name === 'fast')) continue;
    const limit = limits[name]; const size = limit.capacity ?? limit.limit;
    const bad: any[] = []; let over = 0; let tries = 0; let odd: any;
    for (let round = 0; round < 8; round++) {
      const { limiter, advance } = over_({ api: { limit, mode } });
      const passed: [number, number][] = []; let t = 0;
      for (let i = 0; i < 150; i++) {
        const hot = r() < 0.5; const cost = r() < 0.6 ? 1 : 1 + Math.floor(r() * Math.min(size, r() < 0.1 ? size : 12));
        const n = hot ? 1 + Math.floor(r() * 6) : 1;
        for (let j = 0; j < n; j++) {
          const d = await limiter.check('api', 'k', { cost });
          if (d.remaining < 0 || d.remaining > size || !Number.isInteger(d.remaining) || Number.isNaN(d.retryAfterMs) || (!d.allowed && d.retryAfterMs <= 0) || !Number.isInteger(d.decidedAt)) odd ??= JSON.stringify(d);
          if (!d.allowed && d.retryAfterMs < 4000 && j === n - 1) {
            tries++;
            let left = d.retryAfterMs; while (left > 0) { const a = Math.min(20, left); await advance(a); left -= a; t += a; }
            const e = await limiter.check('api', 'k', { cost });
            if (!e.allowed) bad.push([cost, d.retryAfterMs, e.retryAfterMs, d.source, e.source, d.remaining, e.remaining]);
          }
        }
        const p = r() < 0.8 ? Math.floor(r() * 4) : Math.floor(r() * 150); await advance(p); t += p;
      }
    }
    sum[name + JSON.stringify(mode)] = `${bad.length}/${tries} ${odd ?? ''} ` + JSON.stringify(bad.slice(0, 3));
  }
  console.log(sum);
}, 60000);
function over_(rules: any) { return over(rules); }
it('D3 sync throw, garbage, unhandled', async () => {
  const unhandled: any[] = []; const on = (e: any) => unhandled.push(e); process.on('unhandledRejection', on);
  for (const mode of ['lease', 'auto', { sync: '20ms' }] as any) for (const kind of ['throw', 'reject', 'undef', 'empty', 'holes', 'nan', 'mixed', 'never']) {
    const inner = faultyStore(systemClock()); let n = 0;
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
    if (Object.keys(errs).length) console.log(JSON.stringify(mode), kind, errs);
  }
  await new Promise((r) => setTimeout(r, 100));
  process.off('unhandledRejection', on);
  expect(unhandled).toEqual([]);
}, 30000);
