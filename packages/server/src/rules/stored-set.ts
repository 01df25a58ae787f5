import { LineCounter, type Document } from 'yaml';
import { compileRules, type RuleSet } from './compile.js';
import { Places, RulesError, type Fault } from './faults.js';
import type { Difference, Parts } from './repository.js';

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : a > b ? 1 : 0);

/** What a rules file would say that has this in it; `__proto__` is a name like any other. */
export function fileOf({ rules, blocks }: Parts): Record<string, unknown> {
  const entries = [...rules].sort(byName).map(([name, body]) => {
    const { name: _, ...rest } = isRecord(body) ? body : {};
    return { name, ...rest };
  });
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

/**
 * Compiles a stored set. `from` stands where the file's name stands in faults; their line is 0.
 *
 * @throws RulesError with every fault
 */
export function compileStored(parts: Parts, from: string): RuleSet {
  const file = fileOf(parts);
  const stray = strayFaults(parts, from);
  if (parts.rules.size === 0) {
    const message = 'there are no rules; no rules are not "no limits": put at least one, or import some: headgate rules import FILE';
    throw new RulesError([...stray, { file: from, line: 0, message }]);
  }
  try {
    const set = compileRules(file, placesIn(from, file));
    if (stray.length === 0) return set;
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    stray.push(...error.faults.map(withoutLine));
  }
  throw new RulesError(stray);
}

/** The same text for the same value, whatever the order of its fields. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (isRecord(each) ? Object.fromEntries(Object.entries(each).sort(byName)) : each));
}

/** What differs, by kind and name. */
export function differencesOf(before: Parts, after: Parts): Difference[] {
  const within = (kind: Difference['kind'], [old, now]: readonly [ReadonlyMap<string, unknown>, ReadonlyMap<string, unknown>]) =>
    [...new Set([...old.keys(), ...now.keys()])]
      .sort()
      .map((name): Difference => ({ kind, name, before: old.get(name), after: now.get(name) }))
      .filter((each) => canonical(each.before) !== canonical(each.after));
  return [...within('block', [before.blocks, after.blocks]), ...within('rule', [before.rules, after.rules])];
}
