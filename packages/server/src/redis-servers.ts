import { readRedisUrl, type RedisAddress } from './redis-address.js';
import { orFault, type Given } from './settings/setting.js';

/** One of the servers that hold the counters. */
export interface RedisServer {
  /** Undefined if it is the only one, and was given without a name. */
  readonly name: string | undefined;
  readonly address: RedisAddress;
  /** How large a part of the keys it has, beside the others; 0: it is taken out. */
  readonly weight: number;
}

/** Servers in one text, apart by white space; a cluster's hosts have commas between them. White space in a password stays. */
export const splitServers = (text: string): string[] => text.trim().split(/\s+(?=\S*:\/\/)/);

export const splitWeights = (text: string): string[] => text.trim().split(/\s+/);

const goodName = /^[\w.-]{1,64}$/;
const isUrl = (text: string): boolean => /^[a-z+]+:\/\//.test(text);
const severalNeedNames = 'of several servers each needs a name: a=redis://h1 b=redis://h2';

/** Splits at the first `=`, unless that is a part of a URL. */
export function nameIn(text: string): { readonly name: string | undefined; readonly rest: string } {
  const at = text.indexOf('=');
  return at < 0 || isUrl(text) ? { name: undefined, rest: text } : { name: text.slice(0, at), rest: text.slice(at + 1) };
}

const twice = (names: readonly string[]): string[] => [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];

/** A weight by each name. */
function readWeights({ where, texts }: Given, names: readonly string[], faults: string[]): Map<string, number> {
  const weights = texts.flatMap((text): [string, number][] => {
    const { name = '', rest } = nameIn(text);
    const weight = /^\d{1,4}(\.\d{1,6})?$/.test(rest) ? Number(rest) : Number.NaN;
    if (goodName.test(name) && weight <= 1000) return [[name, weight]];
    faults.push(`${where}: expected NAME=N with N from 0 to 1000, such as a=2; got ${JSON.stringify(text.slice(0, 80))}`);
    return [];
  });
  const given = weights.map(([name]) => name);
  for (const name of twice(given)) faults.push(`${where}: ${name} has two weights; leave one`);
  if (texts.length > 0 && names.length === 0) {
    faults.push(`${where}: only servers with names have weights: --redis a=redis://h1 --redis b=redis://h2`);
    return new Map();
  }
  for (const name of new Set(given)) {
    if (!names.includes(name)) faults.push(`${where}: ${name} is none of the servers (${names.join(', ')})`);
  }
  const byName = new Map(weights);
  if (names.length > 0 && names.every((name) => byName.get(name) === 0)) {
    faults.push(`${where}: all servers are taken out; at least one must have a weight above 0`);
  }
  return byName;
}

/**
 * Servers as `URL` (one only) or `NAME=URL`, and weights as `NAME=N`. Faults show names and weights, and no part of a URL. With
 * faults, what is answered is not to be used.
 */
export function readRedisServers(redis: Given, weights: Given, faults: string[]): RedisServer[] {
  const parts = redis.texts.map(nameIn);
  const read = parts.map(({ name, rest }, index) => {
    const which = name === undefined || !goodName.test(name) ? (parts.length > 1 ? ` number ${index + 1}` : '') : ` ${name}`;
    if (name !== undefined && !goodName.test(name)) {
      faults.push(`${redis.where}${which}: the name before "=" is not 1 to 64 letters, digits, ".", "-" or "_"; write a=redis://h1`);
    } else if (name === undefined && parts.length > 1) {
      faults.push(`${redis.where}${which} has no name; ${severalNeedNames}`);
    }
    return { name, address: orFault(faults, () => readRedisUrl(rest, redis.where + which)) };
  });
  const names = parts.flatMap(({ name }) => (name === undefined ? [] : [name]));
  for (const name of twice(names.filter((each) => goodName.test(each)))) {
    faults.push(`${redis.where}: two servers are called ${name}; give each a name of its own, the same in every process`);
  }
  const weightOf = readWeights(weights, [...new Set(names)], faults);
  return read.flatMap(({ name, address }) =>
    address === undefined ? [] : [{ name, address, weight: name === undefined ? 1 : (weightOf.get(name) ?? 1) }],
  );
}
