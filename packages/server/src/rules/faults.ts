import { LineCounter, type Document, isMap, isNode, isScalar } from 'yaml';
import type { z } from 'zod';

/** One thing that is wrong in a rules source, with where and how to mend it. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  readonly rule?: string;
  readonly message: string;
}

/** A source that cannot be used, with all its faults. */
export class RulesError extends Error {
  override readonly name = 'RulesError';
  readonly faults: readonly Fault[];
  constructor(faults: readonly Fault[]) {
    super(faults.map(showFault).join('\n'));
    this.faults = faults;
  }
}

export function showFault({ file, line, rule, message }: Fault): string {
  return `${file}:${line}: ${rule === undefined ? '' : `rule ${JSON.stringify(rule)}: `}${message}`;
}

type Path = readonly PropertyKey[];

/** Finds lines and rule names for paths into a parsed file. */
export class Places {
  readonly #document: Document;
  readonly #lines: LineCounter;
  readonly #file: string;

  constructor(file: string, document: Document, lines: LineCounter) {
    this.#file = file;
    this.#document = document;
    this.#lines = lines;
  }

  /** The line of the innermost part of a path that is in the file. */
  #line(path: Path): number {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = length === 0 ? this.#document.contents : this.#document.getIn(path.slice(0, length), true);
      const key = this.#keyNode(path.slice(0, length));
      const range = key ?? (isNode(node) ? node.range : undefined);
      if (range) return this.#lines.linePos(range[0]).line;
    }
    return 1;
  }

  /** Where a key of a mapping stands: that is the line a person looks for. */
  #keyNode(path: Path): readonly [number, number, number] | undefined {
    const last = path.at(-1);
    const parent = path.length <= 1 ? this.#document.contents : this.#document.getIn(path.slice(0, -1), true);
    if (!isMap(parent)) return undefined;
    const pair = parent.items.find(({ key }) => isScalar(key) && String(key.value) === String(last));
    return isScalar(pair?.key) ? (pair.key.range ?? undefined) : undefined;
  }

  fault(path: Path, message: string): Fault {
    const name = path[0] === 'rules' && typeof path[1] === 'number' ? this.#document.getIn(['rules', path[1], 'name']) : undefined;
    const rule = path[0] !== 'rules' || typeof path[1] !== 'number' ? undefined : typeof name === 'string' ? name : `number ${path[1] + 1}`;
    return { file: this.#file, line: this.#line(path), message, ...(rule === undefined ? undefined : { rule }) };
  }

  /** A schema's issues as faults: unknown fields each for itself, with the field that was probably meant. */
  faultsOf(issues: readonly z.core.$ZodIssue[]): Fault[] {
    return issues.flatMap((issue) => {
      if (issue.code !== 'unrecognized_keys') return [this.fault(issue.path, `${where(issue.path)}${issue.message}${got(this.#document, issue)}`)];
      return issue.keys.map((key) => this.fault([...issue.path, key], `${where(issue.path)}unknown field ${JSON.stringify(key)}; ${near(key)}`));
    });
  }
}

const fields = [
  'version', 'identify', 'rules', 'apiKey', 'account', 'trustProxies', 'name', 'match', 'method', 'path', 'key', 'missingKey', 'limit', 'plans',
  'whenUnavailable', 'shadow', 'countRefused', 'tokenBucket', 'fixedWindow', 'slidingWindow', 'slidingLog', 'quota', 'concurrency', 'unlimited',
  'capacity', 'refill', 'window', 'from', 'period', 'timeZone', 'billingDay', 'expires',
];

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z]/g, '');

function near(key: string): string {
  const given = plain(key);
  const found = fields.find((field) => plain(field) === given) ?? fields.find((field) => given.startsWith(plain(field)) || plain(field).startsWith(given));
  return found === undefined || given === '' ? 'remove it, or see schema/rules.schema.json for the fields that exist' : `did you mean ${JSON.stringify(found)}?`;
}

function where(path: Path): string {
  const inside = path[0] === 'rules' ? path.slice(2) : path;
  return inside.length === 0 ? '' : `${inside.join('.')}: `;
}

/** The value itself, unless it is long: a message without it sends people searching. */
function got(document: Document, issue: z.core.$ZodIssue): string {
  const value: unknown = issue.path.length === 0 ? undefined : document.getIn(issue.path);
  if (value === undefined) return '';
  const text = typeof value === 'object' && value !== null ? '' : `; got ${JSON.stringify(value)}`;
  return text.length > 100 ? '' : text;
}
