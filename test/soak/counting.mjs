/** Texts of errors kept for the report. */
const mostTexts = 5;

/**
 * Counts what the process asked and was answered. What is told when it happened is kept until it is taken, with each sample, so that the
 * counting itself stays flat.
 */
export function counting() {
  const sources = { store: 0, lease: 0, sync: 0, note: 0, fallback: 0 };
  const verbs = {};
  const events = {};
  const errors = { count: 0, texts: [] };
  /** How many decisions were made without the store, and verbs said that it is away, by millisecond of the wall clock. */
  let degraded = new Map();
  let away = new Map();
  let stalls = [];

  const add = (to, name) => {
    to[name] = (to[name] ?? 0) + 1;
  };
  const addNow = (to) => {
    const now = Date.now();
    to.set(now, (to.get(now) ?? 0) + 1);
  };

  return {
    decided(decision) {
      for (const { source, degraded: without } of decision.decisions ?? [decision]) {
        sources[source] += 1;
        if (without) addNow(degraded);
      }
    },
    did: (verb) => add(verbs, verb),
    event: (type) => add(events, type),
    /** Of a verb that says so when the store is away; anything else thrown is an error. */
    failed(what, error) {
      if (error?.code === 'HEADGATE_STORE') {
        addNow(away);
        return;
      }
      errors.count += 1;
      if (errors.texts.length < mostTexts) errors.texts.push(`${what}: ${error?.stack ?? error}`);
    },
    stalled(ms) {
      const until = Date.now();
      stalls.push({ from: until - ms, until });
    },
    take() {
      const taken = { sources, verbs, events, errors, degraded: [...degraded], away: [...away], stalls };
      degraded = new Map();
      away = new Map();
      stalls = [];
      return taken;
    },
  };
}
