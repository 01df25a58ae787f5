import { Document, isCollection, isMap, isSeq } from 'yaml';
import { canonical, fileOf } from '../rules/stored-set.js';
import { ruleSchema } from '../rules/schema.js';
import { atOnce } from '../rules/slices.js';
import type { Known } from './rule-parts.js';

const order = Object.keys(ruleSchema.shape);
const place = (field: string): number => (order.includes(field) ? order.indexOf(field) : order.length);

/** Fields as docs write them, whatever the order in which they were stored; within them by name. */
function ordered(rule: Record<string, unknown>): Record<string, unknown> {
  const sorted = JSON.parse(canonical(rule)) as Record<string, unknown>;
  return Object.fromEntries(Object.entries(sorted).sort(([a], [b]) => place(a) - place(b)));
}

function comment({ version, made }: Known): string {
  if (version === undefined) return ' Rules of Headgate.';
  const why = made === undefined || made.reason === '' ? '' : `: ${JSON.stringify(made.reason)}`;
  const who = made === undefined ? '' : `, by ${JSON.stringify(made.author)} at ${new Date(made.at).toISOString()}${why}`;
  return ` Rules of Headgate, version ${version}${who}.\n headgate rules import FILE takes them back.`;
}

function fieldsOnOneLine(node: unknown): void {
  if (isMap(node)) for (const { value } of node.items) if (isCollection(value)) value.flow = true;
}

/** A rules file, the same for the same rules: by their names, a block each, with what is in a field on one line. */
export function rulesYaml(known: Known): string {
  const { version, rules, ...blocks } = atOnce(fileOf(known)) as { version: 1; rules: Record<string, unknown>[] };
  const value = { version, ...(JSON.parse(canonical(blocks)) as object), rules: rules.map(ordered) };
  const document = new Document(value, { aliasDuplicateObjects: false });
  document.commentBefore = comment(known);
  fieldsOnOneLine(document.contents);
  const list = document.get('rules');
  if (isSeq(list)) {
    list.flow = false;
    for (const rule of list.items) fieldsOnOneLine(rule);
  }
  return document.toString({ lineWidth: 150, singleQuote: true });
}
