import { LineCounter, parseDocument } from 'yaml';
import { compile, type KnownRules, type RuleSet } from './compile.js';
import { Places, RulesError, type Fault } from './faults.js';
import { atOnce, type Sliced } from './slices.js';

/** A rules file larger than this is a mistake. */
export const largestFile = 4 * 1024 * 1024;

/** How many times aliases may be used: far fewer than a bomb needs. */
const mostAliases = 100;

/**
 * Reads the text of a rules file, YAML or JSON (which YAML contains), into a set of rules.
 *
 * @throws RulesError with every fault at once, each with file, line, rule and the mend
 */
export function* load(file: string, text: string, known?: KnownRules): Sliced<RuleSet> {
  const whole = (message: string): Fault => ({ file, line: 1, message });
  if (text.length > largestFile) throw new RulesError([whole(`the file is larger than ${largestFile} bytes; is it the right one?`)]);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const unreadable = [...document.errors, ...document.warnings];
  if (unreadable.length > 0) {
    throw new RulesError(
      unreadable.map(({ code, message, pos: [at] }) => ({
        file,
        line: lines.linePos(at).line,
        message:
          code === 'MULTIPLE_DOCS'
            ? 'a second document begins here; write one file with one document'
            : `not valid YAML or JSON: ${message}`,
      })),
    );
  }
  const places = new Places(file, document, lines);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: mostAliases });
  } catch (error) {
    throw new RulesError([whole(`not valid YAML: ${(error as Error).message}; write the repeated parts out`)]);
  }
  if (value === null || value === undefined)
    throw new RulesError([whole('the file is empty; an empty file is not "no limits": write at least one rule')]);
  yield;
  return yield* compile(value, places, known);
}

/** The same at once. @throws RulesError */
export const loadRules = (file: string, text: string): RuleSet => atOnce(load(file, text));
