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


it('P1 sync bucket solo: minimal', async () => {
  for (const cost of [1, 3, 10]) {
  const { limiter, advance } = over({ api: { limit: tokenBucket({ capacity: 50, refill: '20/s' }), mode: { sync: '100ms' } } });
  await limiter.check('api', 'k'); await turn();
  await passing(60, () => limiter.check('api', 'k')); await advance(37);
  const log: any[] = [];
  for (let i = 0; i < 12; i++) { const d = await limiter.check('api', 'k', { cost }); log.push([d.allowed, d.retryAfterMs, d.remaining, d.source]); if (d.allowed) { await advance(3); continue; } let left = d.retryAfterMs; while (left > 0) { const a = Math.min(10, left); await advance(a); left -= a; } }
  console.log(cost, JSON.stringify(log));
  }
});
it('P2 auto: minimal', async () => {
  const { limiter, advance } = over({ api: { limit: tokenBucket({ capacity: 20, refill: '200/s' }), mode: 'auto' } });
  const log: any[] = []; 
  for (let i = 0; i < 60; i++) { const d = await limiter.check('api', 'k'); if (!d.allowed) { log.push([i, d.retryAfterMs, d.source]); await advance(d.retryAfterMs); const e = await limiter.check('api', 'k'); log.push(['->', e.allowed, e.retryAfterMs, e.source]); } }
  console.log(JSON.stringify(log));
});
it('P3 fixed lease: cut, minimal', async () => {
  const { limiter, advance, faulty } = over({ api: { limit: fixedWindow({ limit: 60, window: '1d' }), mode: 'lease' } });
  for (let i = 0; i < 40; i++) { await limiter.check('api', 'k'); await advance(1); }
  const total = 20; const log: any[] = [];
  for (let i = 0; i < 30; i++) { const store = (await limiter.peek('api', 'k')).remaining; const d = await limiter.check('api', 'k', { cost: 15 }); log.push([store, d.allowed, d.retryAfterMs, d.remaining]); if (d.allowed) break; await advance(Math.min(70, d.retryAfterMs)); }
  console.log(JSON.stringify(log));
});
it('P4 ban in lease by other', async () => {
  const { limiter, another, advance } = over({ api: { limit: tokenBucket({ capacity: 1000, refill: '1000/s' }), mode: 'lease' } });
  const other = another();
  for (let i = 0; i < 300; i++) { await limiter.check('api', 'k'); await advance(1); }
  await other.ban('api', 'k', '10m');
  let n = 0; const last: any = {};
  for (let i = 0; i < 3000; i++) { const d = await limiter.check('api', 'k'); if (d.allowed) n = i; else last[d.reason + d.source] = d.retryAfterMs; await advance(1); }
  console.log('last allowed at', n, last);
});
it('P5 first-request lease, tiny windows with latency', async () => {
  for (const w of ['5ms', '10ms', '20ms', '50ms'] as any) for (const lat of [1, 3, 8]) {
    const clock = fakeClock(); const faulty = faultyStore(clock);
    const delay = (ms: number) => new Promise<void>((r) => clock.after(ms, r));
    const store: any = { ...faulty.store, decide: async (g: any, t: any) => { if (t) t.sent = true; await delay(lat / 2); const a = await faulty.shared.decide(g); await delay(lat / 2); return a; } };
    const out: any[] = [];
    for (const mode of ['exact', 'lease'] as any) {
    const l = createLimiter({ store, clock, deadline: '30ms', fleetSize: 1, rules: { api: { limit: fixedWindow({ limit: 20, window: w }), mode } }, onEvent: () => undefined }); 
    let ok = 0; let degraded = 0; let done = 0; let worst = 0;
    for (let i = 0; i < 1000; i++) { const t = i; void l.check('api', 'k' + mode).then((d) => { done++; if (d.allowed) ok++; if (d.degraded) degraded++; }); clock.advance(1000); await turn(); }
    for (let i = 0; i < 100; i++) { clock.advance(1000); await turn(); }
    out.push(mode, ok, degraded, done); }
    console.log(w, 'rtt', lat, out.join(' '));
  }
});
