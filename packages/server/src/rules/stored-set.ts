import { LineCounter, type Document } from 'yaml';
import { compile, compileParts, type KnownRules, type RuleSet } from './compile.js';
import { isRecord } from './compile-rule.js';
import { Places, RulesError, type Fault } from './faults.js';
import type { Difference, Parts } from './repository.js';
import type { Sliced } from './slices.js';

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : a > b ? 1 : 0);

/** What a rules file would say that has this in it; `__proto__` is a name like any other. */
export function* fileOf({ rules, blocks }: Parts): Sliced<Record<string, unknown>> {
  const entries: unknown[] = [];
  for (const [name, body] of [...rules].sort(byName)) {
    yield;
    entries.push({ ...(isRecord(body) ? body : {}), name });
  }
  return { version: 1, ...Object.fromEntries([...blocks].sort(byName)), rules: entries };
}

function at(value: unknown, path: Iterable<unknown>): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step as PropertyKey)) return undefined;
    found = (found as Record<PropertyKey, unknown>)[step as PropertyKey];
  }
  return found;
}

/** Places in a value that never was a text: they have rules and fields, and line 0. */
function placesIn(from: string, value: unknown): Places {
  // Of a document, Places asks for nodes, of which there are none, and for names of rules.
  const document = { contents: null, getIn: (path: Iterable<unknown>) => at(value, path) };
  return new Places(from, document as unknown as Document, new LineCounter());
}

const withoutLine = (fault: Fault): Fault => ({ ...fault, line: 0 });

/** What compiling a whole file would not show, as it happens before there is one. */
function strayFaults({ rules, blocks }: Parts, from: string): Fault[] {
  const whole = { file: from, line: 0 };
  const faults: Fault[] = [];
  for (const name of ['version', 'rules']) {
    if (blocks.has(name)) faults.push({ ...whole, message: `the block ${JSON.stringify(name)} is none of its own; remove it` });
  }
  for (const [name, body] of rules) {
    if (!isRecord(body)) faults.push({ ...whole, rule: JSON.stringify(name), message: 'expected fields with values, as JSON' });
    else if (Object.hasOwn(body, 'name') && body['name'] !== name)
      faults.push({ ...whole, rule: JSON.stringify(name), message: `name: another than the one it is stored under; leave it out` });
  }
  return faults;
}

export interface CompileOptions {
  /** Stands where the file's name stands in faults; their line is 0. */
  readonly from: string;
  /** Rules that need not be made again if they say the same. */
  readonly known?: KnownRules | undefined;
}

function* compiled<T>({ parts, from }: { parts: Parts; from: string }, work: (file: unknown, places: Places) => Sliced<T>): Sliced<T> {
  yield;
  const file = yield* fileOf(parts);
  yield;
  const stray = strayFaults(parts, from);
  if (parts.rules.size === 0) {
    const message = 'there are no rules; no rules are not "no limits": put at least one, or import some: headgate rules import FILE';
    throw new RulesError([...stray, { file: from, line: 0, message }]);
  }
  try {
    const made = yield* work(file, placesIn(from, file));
    if (stray.length === 0) return made;
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    stray.push(...error.faults.map(withoutLine));
  }
  throw new RulesError(stray);
}

/**
 * Compiles a stored set.
 *
 * @throws RulesError with every fault
 */
export const compileStored = (parts: Parts, { from, known }: CompileOptions): Sliced<RuleSet> =>
  compiled({ parts, from }, (file, places) => compile(file, places, known));

/**
 * The same without what finds rules, where it only matters whether a set has faults.
 *
 * @throws RulesError with every fault
 */
export const checkStored = (parts: Parts, { from, known }: CompileOptions): Sliced<Omit<RuleSet, 'matcher'>> =>
  compiled({ parts, from }, (file, places) => compileParts(file, places, known));

/** The same text for the same value, whatever the order of its fields. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (isRecord(each) ? Object.fromEntries(Object.entries(each).sort(byName)) : each));
}

/** Quick for what did not change, which is nearly all: then mostly the order of fields is the same, too. */
const isSame = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b) || canonical(a) === canonical(b);

/** What differs, by kind and name. */
export function* differencesOf(before: Parts, after: Parts): Sliced<Difference[]> {
  const found: Difference[] = [];
  for (const [kind, old, now] of [
    ['block', before.blocks, after.blocks],
    ['rule', before.rules, after.rules],
  ] as const) {
    const differing: Difference[] = [];
    for (const name of new Set([...old.keys(), ...now.keys()])) {
      yield;
      const [was, is] = [old.get(name), now.get(name)];
      if (!isSame(was, is)) differing.push({ kind, name, before: was, after: is });
    }
    found.push(...differing.sort((a, b) => (a.name < b.name ? -1 : 1)));
  }
  return found;
}
