import { createLimiter, memoryStore, tokenBucket } from 'headgate';
import { describe, expect, it } from 'vitest';
import { allowed, random, refused, watched } from './support/traffic.js';

interface Day {
  /** What a client may do in a minute, and at once. */
  readonly limit: number;
  readonly seconds: number;
  /** Clients, each asking six times a minute on average. */
  readonly clients?: number;
  /** Further keys, each asking so many times a second. */
  readonly hammering?: Readonly<Record<string, number>>;
}

/** Real decisions of synthetic clients: what is watched then. */
async function after({ limit, seconds, clients = 2000, hammering = {} }: Day) {
  const set = watched();
  const { traffic, clock, pass } = set;
  const rules = { api: { limit: tokenBucket({ capacity: limit, refill: `${limit}/m` }) } };
  const limiter = createLimiter({ store: memoryStore({ clock }), clock, rules });
  const next = random(42);
  const ask = async (key: string) => traffic.observe([await limiter.check('api', key)]);
  for (let second = 0; second < seconds; second += 1) {
    for (let i = 0; i < clients / 10; i += 1) await ask(`client-${Math.floor(next() * clients)}`);
    for (const [key, times] of Object.entries(hammering)) for (let i = 0; i < times; i += 1) await ask(key);
    pass(1);
  }
  return set;
}

type Set = ReturnType<typeof watched>;

/** Keys that nobody saw before, each once. */
function flood(
  { traffic, pass }: Set,
  { perSecond, seconds, decide = allowed, name = 'new' }: { perSecond: number; seconds: number; decide?: typeof allowed; name?: string },
) {
  for (let second = 0; second < seconds; second += 1) {
    for (let i = 0; i < perSecond; i += 1) traffic.observe([decide('api', `${name}-${second}-${i}`)]);
    pass(1);
  }
}

describe('the verdict', () => {
  it('is quiet over normal traffic, of which a limit refuses a little', async () => {
    const { traffic } = await after({ limit: 8, seconds: 240 });
    const report = traffic.report('api')!;
    expect(report.refused).toBeGreaterThan(20);
    expect(report.shareRefused).toBeLessThan(0.2);
    expect(report.verdict).toBe('quiet');
    expect(traffic.report('api', '1h')?.verdict).toBe('quiet');
  });

  it('is a wrong rule where the limit is ten times too low: most keys are refused, none stands out', async () => {
    const { traffic } = await after({ limit: 1, seconds: 240 });
    const report = traffic.report('api')!;
    expect(report.verdict).toBe('wrong-rule');
    expect(report.shareRefused).toBeGreaterThan(0.9);
    expect(report.reasons.join()).toMatch(/9\d % of all keys were refused: a limit that is too low does that/);
    expect(traffic.report('api', '1h')?.verdict).toBe('wrong-rule');
  });

  it('is a wrong rule where half of the keys meet the limit', async () => {
    const { traffic } = await after({ limit: 5, seconds: 240 });
    expect(traffic.report('api')?.verdict).toBe('wrong-rule');
  });

  it('is an attack where one key hammers, and names it by its mask', async () => {
    const { traffic } = await after({ limit: 20, seconds: 120, hammering: { '203.0.113.9': 100 } });
    const report = traffic.report('api')!;
    expect(report.verdict).toBe('attack');
    expect(report.topRefused[0]?.mask).toBe(traffic.maskOf('203.0.113.9'));
    expect(report.topRefused[0]?.share).toBeGreaterThan(0.95);
    expect(report.reasons.join()).toMatch(/one key has \d+ % of all refusals, 4,\d\d\d each, while a key was allowed \d\.?\d? on average/);
    expect(traffic.report('api', '1h')?.verdict).toBe('attack');
  });

  it('is an attack where fifty of thousands of keys hammer', async () => {
    const hammering = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`bot-${i}`, 2]));
    const { traffic } = await after({ limit: 10, seconds: 120, hammering });
    expect(traffic.report('api')?.verdict).toBe('attack');
  });

  it('is mixed where the limit is too low and one key hammers', async () => {
    const { traffic } = await after({ limit: 1, seconds: 120, hammering: { greedy: 300 } });
    const { verdict, reasons } = traffic.report('api')!;
    expect(verdict).toBe('mixed');
    expect(reasons.join()).toMatch(/of all keys were refused.*one key has/);
  });

  it('is an attack where 20,000 new keys a second come once each, from the first minute on', async () => {
    const set = await after({ limit: 20, seconds: 240 });
    expect(set.traffic.report('api')?.verdict).toBe('quiet');
    flood(set, { perSecond: 20_000, seconds: 30 });
    const { verdict, reasons, distinctSeen } = set.traffic.report('api')!;
    expect(verdict).toBe('attack');
    expect(Math.abs(distinctSeen / 602_000 - 1)).toBeLessThan(0.07);
    expect(reasons.join()).toMatch(
      /different keys in a minute, 1 checks each: new ones that do not come back; a quiet minute of the last hour had/,
    );
  });

  it('stays an attack while such keys come for most of an hour', async () => {
    const set = await after({ limit: 20, seconds: 600 });
    for (let minute = 0; minute < 50; minute += 1) {
      flood(set, { perSecond: 400, seconds: 60, name: `minute-${minute}` });
      expect(set.traffic.report('api')?.verdict).toBe('attack');
    }
  });

  it('is an attack by very many such keys though nothing is known of the time before, and says so', () => {
    const set = watched();
    flood(set, { perSecond: 20_000, seconds: 10 });
    const { verdict, reasons } = set.traffic.report('api')!;
    expect(verdict).toBe('attack');
    expect(reasons.join()).toMatch(/nothing is known of the time before, so it may be usual here/);
  });

  it('is quiet where keys come once each as they always did', () => {
    const set = watched();
    for (let minute = 0; minute < 30; minute += 1) {
      flood(set, { perSecond: 300, seconds: 60, name: `minute-${minute}` });
      expect(set.traffic.report('api')?.verdict).toBe('quiet');
    }
  });

  it('is quiet where all clients ask once a minute', () => {
    const set = watched();
    for (let minute = 0; minute < 30; minute += 1) {
      flood(set, { perSecond: 300, seconds: 60 });
      expect(set.traffic.report('api')?.verdict).toBe('quiet');
    }
  });

  it('is mixed where most keys are refused, but most keys are new: a crowd of bots, or of people', async () => {
    const set = await after({ limit: 20, seconds: 240 });
    for (let times = 0; times < 5; times += 1) flood(set, { perSecond: 2000, seconds: 10, decide: refused });
    const { verdict, reasons } = set.traffic.report('api')!;
    expect(verdict).toBe('mixed');
    expect(reasons.join()).toMatch(/new ones that come back/);
  });

  it('is quiet while Redis is away and a rule refuses all for that, and says so', () => {
    const { traffic } = watched();
    for (let i = 0; i < 1000; i += 1) traffic.observe([refused('api', `key-${i % 100}`, 'store-unavailable')]);
    const report = traffic.report('api')!;
    expect(report).toMatchObject({ verdict: 'quiet', refused: 0, unavailable: 1000, distinctRefused: 0 });
    expect(report.reasons.join()).toMatch(/1,000 further checks were refused because Redis was away/);
  });

  it('is mixed where all share one budget: one key tells nothing', () => {
    const { traffic } = watched();
    for (let i = 0; i < 1000; i += 1) traffic.observe([(i < 500 ? allowed : refused)('api', '*')]);
    expect(traffic.report('api')).toMatchObject({ verdict: 'mixed', distinctSeen: 1, distinctRefused: 1 });
  });

  it('is an attack where one of five customers hammers', () => {
    const { traffic } = watched();
    for (let i = 0; i < 500; i += 1) traffic.observe([i < 50 ? allowed('api', `customer-${i % 5}`) : refused('api', 'customer-3')]);
    expect(traffic.report('api')?.verdict).toBe('attack');
  });

  it('is mixed where much is refused, but neither of most keys nor of few', () => {
    const { traffic } = watched();
    for (let i = 0; i < 1000; i += 1) for (let k = 0; k < 10; k += 1) traffic.observe([allowed('api', `key-${i}`)]);
    for (let i = 0; i < 100; i += 1) for (let k = 0; k < 15; k += 1) traffic.observe([refused('api', `key-${i}`)]);
    expect(traffic.report('api')).toMatchObject({ verdict: 'mixed', refused: 1500 });
    expect(traffic.report('api')?.reasons.join()).toMatch(/neither a large part of the keys nor a few of them/);
  });
});
