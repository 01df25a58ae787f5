import { LineCounter, parseDocument } from 'yaml';
import { compileRules, type RuleSet } from './compile.js';
import { Places, RulesError } from './faults.js';
import { rulesFileSchema } from './schema.js';

/** A rules file larger than this is a mistake. */
const largestFile = 4 * 1024 * 1024;

/**
 * Reads the text of a rules file, YAML or JSON (which YAML contains), into a set of rules.
 *
 * @throws RulesError with every fault at once, each with file, line, rule and the mend
 */
export function loadRules(file: string, text: string): RuleSet {
  if (text.length > largestFile) throw new RulesError([{ file, line: 1, message: `the file is ${text.length} characters long; at most ${largestFile}` }]);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  if (document.errors.length > 0) {
    throw new RulesError(document.errors.map((error) => ({ file, line: lines.linePos(error.pos[0]).line, message: `not valid YAML or JSON: ${error.message}` })));
  }
  const places = new Places(file, document, lines);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new RulesError([places.fault([], `not valid YAML: ${(error as Error).message}`)]);
  }
  if (value === null || value === undefined) {
    throw new RulesError([{ file, line: 1, message: 'the file is empty; an empty file is not "no limits": write at least one rule' }]);
  }
  const parsed = rulesFileSchema.safeParse(value);
  if (!parsed.success) throw new RulesError(places.faultsOf(parsed.error.issues));
  return compileRules(parsed.data, places);
}
