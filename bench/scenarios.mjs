// What is asked of which systems. Not every pair is there: only what the package can do, and what tells something.
import { memoryPeers, peers } from './systems/index.mjs';

const usual = ['headgate', 'flexible', 'rlr', 'raw', 'bare'];
const withClients = ['headgate', 'headgate-node-redis', 'headgate-glide', ...peers, 'upstash-bucket', 'raw', 'bare'];

/**
 * By the name that `--scenario` takes. `at`: systems by the number in flight. `keys` if not those of `--keys`; `rules`, `cost`: of each request;
 * `refuse`: every key has used up its limit; `processes`: how many ask at once.
 */
export const scenarios = {
  many: { title: 'many keys', at: { 1: withClients, 8: usual, 64: usual, 256: withClients, 1000: usual } },
  hot: { title: 'one hot key', keys: 1, at: { 256: ['headgate', 'headgate-lease', ...peers, 'raw', 'bare', 'map'] } },
  'refused-one': {
    title: 'one refused key',
    keys: 1,
    refuse: true,
    at: { 256: ['headgate', 'headgate-noted', 'flexible', 'upstash', 'map'] },
  },
  refused: { title: 'refused keys', refuse: true, at: { 256: ['headgate', 'headgate-noted', 'flexible', 'upstash', 'raw', 'map'] } },
  three: {
    title: 'three rules per request',
    rules: 3,
    at: { 1: ['headgate', 'headgate-one', 'flexible', 'raw'], 256: ['headgate', 'headgate-one', 'flexible', 'raw'] },
  },
  cost: { title: 'cost 5', cost: 5, at: { 256: ['headgate', 'flexible', 'upstash', 'upstash-bucket', 'raw'] } },
  processes: { title: '1 and 2 processes', processes: [1, 2], at: { 256: ['headgate', 'flexible', 'rlr', 'raw'] } },
  shards: { title: '1 and 2 shards', at: { 256: ['headgate', 'headgate-2-shards'] } },
  memory: { title: 'memory store', at: { 256: ['headgate-memory', ...memoryPeers, 'express-store', 'map'] } },
};

/** A scenario's settings, all of them, for the processes that ask. */
export function settingsOf({ keys, rules = 1, cost = 1, refuse = false }, options) {
  return {
    keys: keys ?? options.keys,
    rules,
    cost,
    refuse,
    // So high that nothing is refused, and so slow that no key expires during the run; or used up by the first check.
    most: refuse ? 1 : 4e6,
    refill: refuse ? '1/d' : '1/m',
    windowSeconds: 24 * 3600,
  };
}

/** The cells of a scenario, by processes and number in flight: which systems take turns. */
export function blocksOf({ at, processes = [1] }, { only, inFlight }) {
  const chosen = (names) => names.filter((name) => only === undefined || only.includes(name));
  const everywhere = [...new Set(Object.values(at).flat())];
  const numbers = inFlight ?? Object.keys(at).map(Number);
  return processes.flatMap((count) =>
    numbers
      .map((number) => ({ processes: count, inFlight: number, names: chosen(inFlight ? everywhere : at[number]) }))
      .filter(({ names }) => names.length > 0),
  );
}
