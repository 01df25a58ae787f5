import { keepAtOnce, type Soon } from './at-once.js';
import { tellDecision } from './channels.js';
import type { Clock } from './clock.js';
import { Decided } from './decided.js';
import type { Decision, GroupDecision } from './decision.js';
import { durationUs, type Duration } from './duration.js';
import { ConfigError, inputError, show } from './errors.js';
import { givingBack } from './giving-back.js';
import { checkKey } from './key.js';
import type { AcquireOptions, CheckOptions, CheckRequest, Limiter, LimiterStats, Reservation, SetUsedOptions } from './limiter-types.js';
import { readOutbound, type OutboundOptions } from './outbound/options.js';
import { findRule, isCounted, makeCheck, readAcquire, readSetUsed, type Asked } from './requests.js';
import { makeRule, type Rule, type RuleOptions } from './rule.js';
import type { Asking, Check, GroupOutcome, Outcome, Store, Target } from './stores/store.js';
import { setUsed } from './set-used.js';
import { sleep } from './turn.js';

/** What limiters over the same store share. */
export interface Core {
  readonly store: Store;
  readonly clock: Clock;
  readonly counts: { checks: number; degraded: number; unreturned: number };
  readonly gauges: () => Omit<LimiterStats, keyof Core['counts']>;
  /** Called with each set of rules. */
  readonly onRules: (rules: ReadonlyMap<string, Rule>) => void;
  closed: boolean;
  /** The rules made last: those in force, where they are reloaded. */
  latest?: ReadonlyMap<string, Rule>;
}

/** Checks in one group at most: what one script call carries. */
const mostChecks = 64;

const unlimitedOutcome: Outcome = Object.freeze({
  allowed: true,
  taken: 0,
  remaining: Number.POSITIVE_INFINITY,
  retryAfterUs: 0,
  resetAfterUs: 0,
  reason: 'ok',
});

/** Validates rules by name. */
export function makeRules(rules: unknown): ReadonlyMap<string, Rule> {
  if (typeof rules !== 'object' || rules === null || Array.isArray(rules)) {
    throw new ConfigError('HEADGATE_BAD_OPTION', `rules: expected an object of rules by name; got ${show(rules)}`);
  }
  return new Map(Object.entries(rules as Record<string, RuleOptions>).map(([name, rule]) => [name, makeRule(name, rule)]));
}

/** Of those that refuse, the longest wait; else the fewest remaining. */
function binding<Name extends string>(decisions: readonly Decision<Name>[], allowed: boolean): Decision<Name> {
  const candidates = allowed ? decisions : decisions.filter((decision) => !decision.allowed);
  const strictest = candidates.reduce((a, b) => {
    if (allowed) return b.remaining < a.remaining ? b : a;
    return b.retryAfterMs > a.retryAfterMs ? b : a;
  });
  return strictest;
}

interface LoneAskingOptions<Decision> {
  readonly check: Check;
  readonly dry: boolean;
  readonly decisionOn: (check: Check, answer: GroupOutcome, dry: boolean) => Decision;
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
}

/** One check on its way to the store, and who waits for its decision. */
class LoneAsking<Decision> implements Asking {
  cancelled = false;
  sent = false;
  readonly #check: Check;
  readonly #dry: boolean;
  readonly #decisionOn: LoneAskingOptions<Decision>['decisionOn'];
  readonly #resolve: LoneAskingOptions<Decision>['resolve'];
  readonly failed: LoneAskingOptions<Decision>['reject'];

  constructor({ check, dry, decisionOn, resolve, reject }: LoneAskingOptions<Decision>) {
    this.#check = check;
    this.#dry = dry;
    this.#decisionOn = decisionOn;
    this.#resolve = resolve;
    this.failed = reject;
  }

  answered(answer: GroupOutcome): void {
    try {
      this.#resolve(this.#decisionOn(this.#check, answer, this.#dry));
    } catch (error) {
      // Its caller's alone: others are answered by the same call.
      this.failed(error);
    }
  }
}

/** A limiter over a store: validates, asks, and turns what the store says into decisions. */
export function makeLimiter<Name extends string>(core: Core, rules: ReadonlyMap<string, Rule>): Limiter<Name> {
  const { store, clock, counts } = core;
  core.onRules(rules);
  core.latest = rules;
  const back = givingBack({
    store,
    ruleNow: (name) => core.latest?.get(name) ?? rules.get(name),
    onLost: () => void (counts.unreturned += 1),
  });

  function assertOpen(): void {
    if (core.closed) throw inputError('HEADGATE_CLOSED', 'the limiter is closed');
  }

  type Answer = Pick<GroupOutcome, 'now' | 'source' | 'degraded'>;

  function decided(asked: Asked, outcome: Outcome, answer: Answer): Decided<Name> {
    counts.checks += 1;
    if (answer.degraded) counts.degraded += 1;
    return new Decided(asked, outcome, answer);
  }

  const withoutStore = (): Answer => ({ now: clock.nowUs(), source: 'store', degraded: false });

  /** What only looked is no decision to tell of. */
  function told(decision: Decided<Name>, dry: boolean): Decided<Name> {
    if (!dry) tellDecision(decision);
    return decision;
  }

  /** The path of most requests: no more promises and objects than it needs. */
  function decideOne(asked: Asked, dry = false): Soon<Decided<Name>> {
    if (!isCounted(asked)) return told(decided(asked, unlimitedOutcome, withoutStore()), dry);
    const known = store.checkNow?.(asked, dry);
    return known === undefined ? askOne(asked, dry) : told(decided(asked, known, known), dry);
  }

  function decisionOn(check: Check, answer: GroupOutcome, dry: boolean): Decided<Name> {
    const [outcome] = answer.outcomes;
    if (outcome === undefined) throw new Error('the store answered for no check');
    return told(decided(check, outcome, answer), dry);
  }

  function askOne(check: Check, dry: boolean): Promise<Decided<Name>> {
    const group = dry ? { checks: [check], dry } : { checks: [check] };
    if (store.ask === undefined) return store.decide(group).then((answer) => decisionOn(check, answer, dry));
    return new Promise((resolve, reject) => store.ask?.(group, new LoneAsking({ check, dry, decisionOn, resolve, reject })));
  }

  async function decideAll(asked: readonly Asked[]): Promise<GroupDecision<Name>> {
    const checks = asked.filter(isCounted);
    const group = checks.length === 0 ? undefined : await store.decide({ checks });
    let next = 0;
    const decisions = asked.map((one) => {
      if (group === undefined || !isCounted(one)) return decided(one, unlimitedOutcome, group ?? withoutStore());
      const outcome = group.outcomes[next++];
      if (outcome === undefined) throw new Error('the store answered for fewer checks than were asked');
      return decided(one, outcome, group);
    });
    const allowed = group?.allowed ?? true;
    for (const decision of decisions) tellDecision(decision, allowed);
    const strictest = binding(decisions, allowed);
    // Written out: a spread of a class costs more than deciding.
    const { rule, key, cost, limit, remaining, retryAfterMs, resetAfterMs, reason, source, degraded, shadow, wouldAllow, decidedAt } =
      strictest;
    return {
      allowed: strictest.allowed,
      rule,
      key,
      cost,
      limit,
      remaining,
      retryAfterMs,
      resetAfterMs,
      reason,
      source,
      degraded,
      shadow,
      wouldAllow,
      decidedAt,
      decisions,
    };
  }

  function target(name: unknown, key: unknown, verb: string): Target {
    assertOpen();
    const rule = findRule(rules, name);
    checkKey(rule.name, key);
    if (rule.kinds.length === 0) throw inputError('HEADGATE_BAD_CALL', `${verb}: rule ${show(rule.name)} is unlimited; it has no counters`);
    return { rule: rule.name, key, kinds: rule.kinds };
  }

  /** Takes a turn in the future in one call, and sleeps until then: first come, first served over all processes. */
  async function takeTurn(asked: Asked, maxWaitUs: number, signal: AbortSignal | undefined): Promise<Decision<Name>> {
    const decision = await decideOne({ ...asked, aheadUs: maxWaitUs });
    const waitUs = Decided.turnOf(decision);
    if (!decision.allowed || waitUs === 0) {
      if (signal?.aborted) await back.refund(decision);
      signal?.throwIfAborted();
      return decision;
    }
    try {
      await sleep(clock, Math.ceil(waitUs / 1000), signal);
    } catch (aborted) {
      await back.refund(decision);
      throw aborted;
    }
    return decision;
  }

  /** Asks, and waits as long as it is told, until it passes or the wait would be too long. */
  async function waitAndAsk(asked: Asked, maxWaitUs: number, signal: AbortSignal | undefined): Promise<Decision<Name>> {
    const until = clock.nowUs() + maxWaitUs;
    for (;;) {
      const decision = await decideOne(asked);
      if (signal?.aborted) {
        await back.refund(decision);
        signal.throwIfAborted();
      }
      if (decision.allowed || clock.nowUs() + decision.retryAfterMs * 1000 > until) return decision;
      // Some of those that wait for the same instant come a little later, so that not all ask at once and in vain.
      const leftMs = (until - clock.nowUs()) / 1000;
      await sleep(clock, Math.min(leftMs, decision.retryAfterMs + Math.random() * 10), signal);
    }
  }

  function checkAtOnce(rule: Name, key: string, options?: CheckOptions): Soon<Decided<Name>> {
    assertOpen();
    return decideOne(makeCheck(findRule(rules, rule), key, options));
  }

  const limiter: Limiter<Name> = {
    rules: Object.freeze([...rules.keys()]) as readonly Name[],
    check(rule: Name, key: string, options?: CheckOptions) {
      try {
        return Promise.resolve(checkAtOnce(rule, key, options));
      } catch (error) {
        return Promise.reject(error);
      }
    },

    async checkAll(checks: readonly CheckRequest<Name>[]) {
      assertOpen();
      if (!Array.isArray(checks) || checks.length < 1 || checks.length > mostChecks) {
        throw inputError('HEADGATE_BAD_CALL', `checkAll: expected 1 to ${mostChecks} checks; got ${show(checks)}`);
      }
      const validated = checks.map((asked: CheckRequest<Name>) => {
        if (typeof asked !== 'object' || asked === null)
          throw inputError('HEADGATE_BAD_CALL', `checkAll: expected { rule, key, cost?, plan? }; got ${show(asked)}`);
        const { rule, key, ...options } = asked;
        return makeCheck(findRule(rules, rule), key, options);
      });
      return decideAll(validated);
    },

    async peek(rule: Name, key: string, options?: CheckOptions) {
      assertOpen();
      return decideOne(makeCheck(findRule(rules, rule), key, options), true);
    },

    async reserve(rule: Name, key: string, options?: CheckOptions): Promise<Reservation<Name>> {
      assertOpen();
      const asked = makeCheck(findRule(rules, rule), key, options);
      if (asked.limit.kind === 'concurrency') {
        throw inputError('HEADGATE_BAD_CALL', `reserve: rule ${show(rule)} limits concurrency; hold with check() and end with release()`);
      }
      const decision = await decideOne(asked);
      return {
        allowed: decision.allowed,
        decision,
        settle: (actual) => back.settle(decision, actual),
        cancel: () => back.settle(decision, 0),
      };
    },

    async acquire(rule: Name, key: string, options: AcquireOptions) {
      assertOpen();
      const { maxWaitUs, signal, check } = readAcquire(options);
      const asked = makeCheck(findRule(rules, rule), key, check);
      signal?.throwIfAborted();
      return asked.limit.kind === 'tokenBucket' && asked.shadow !== true
        ? takeTurn(asked, maxWaitUs, signal)
        : waitAndAsk(asked, maxWaitUs, signal);
    },

    fetch(rule: Name, key: string, options: OutboundOptions = {}) {
      assertOpen();
      const calling = readOutbound(options);
      if (makeCheck(findRule(rules, rule), key, calling.check).limit.kind === 'concurrency')
        throw inputError('HEADGATE_BAD_CALL', `fetch: rule ${show(rule)} limits concurrency; hold with check() and end with release()`);
      // Loaded by those that call others.
      return async (input, init) => (await import('./outbound/call.js')).callInTurn({ limiter, clock, rule, key, ...calling }, input, init);
    },

    refund: (taken) => back.refund(taken),
    settle: (taken, actual) => back.settle(taken, actual),
    outcome: (taken, result) => back.outcome(taken, result),
    release: (taken) => back.release(taken),
    extend: (taken) => back.extend(taken),
    receipt: (decision) => back.receipt(decision),

    async reset(rule: Name, key: string) {
      await store.reset(target(rule, key, 'reset'));
    },
    async setUsed(rule: Name, key: string, options: SetUsedOptions) {
      assertOpen();
      const { used, check } = readSetUsed(options);
      await setUsed(store, makeCheck(findRule(rules, rule), key, check), used);
    },
    async ban(rule: Name, key: string, duration: Duration) {
      const of = target(rule, key, 'ban');
      await store.ban(of, durationUs('ban', duration));
    },
    async unban(rule: Name, key: string) {
      await store.unban(target(rule, key, 'unban'));
    },

    withRules: <Other extends string>(other: Readonly<Record<Other, RuleOptions>>) => makeLimiter<Other>(core, makeRules(other)),
    async ready() {
      assertOpen();
      await store.ping();
    },
    stats: () => ({ ...counts, ...core.gauges() }),
    async close() {
      if (core.closed) return;
      core.closed = true;
      await store.close();
    },
  };
  keepAtOnce<Name>(limiter.check, checkAtOnce);
  return limiter;
}
