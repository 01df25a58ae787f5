import { isMap, isNode, isScalar, type Document, type LineCounter } from 'yaml';
import type { z } from 'zod';
import { distance } from '../nearest.js';

/** One thing that is wrong in a rules source, with where and how to mend it. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  /** The rule's name in quotes, or its number, `number 3`, where it has none. */
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

/** Line 0 is none: what is in a database has no lines. */
export function showFault({ file, line, rule, message }: Fault): string {
  return `${line === 0 ? file : `${file}:${line}`}: ${rule === undefined ? '' : `rule ${rule}: `}${message}`;
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
    const rule =
      path[0] !== 'rules' || typeof path[1] !== 'number'
        ? undefined
        : typeof name === 'string'
          ? JSON.stringify(name)
          : `number ${path[1] + 1}`;
    return { file: this.#file, line: this.#line(path), message, ...(rule === undefined ? undefined : { rule }) };
  }

  /** A schema's issues as faults: unknown fields each for itself, with the field that was probably meant. */
  faultsOf(issues: readonly z.core.$ZodIssue[]): Fault[] {
    return issues.flatMap((issue, index) => {
      // A number that is too large in two ways is one fault: the tighter bound comes last.
      if (issue.code === 'too_big' && issues[index + 1]?.code === 'too_big' && String(issue.path) === String(issues[index + 1]?.path))
        return [];
      if (issue.code !== 'unrecognized_keys') return [this.fault(issue.path, `${where(issue.path)}${told(issue)}${got(issue)}`)];
      return issue.keys.map((key) =>
        this.fault([...issue.path, key], `${where(issue.path)}unknown field ${JSON.stringify(key)}; ${near(key)}`),
      );
    });
  }
}

const fields = [
  ...[
    'version',
    'identify',
    'rules',
    'apiKey',
    'account',
    'ipv6Prefix',
    'trustProxies',
    'name',
    'match',
    'method',
    'path',
    'key',
    'missingKey',
    'limit',
  ],
  ...['host', 'header', 'plan'],
  ...['plans', 'whenUnavailable', 'shadow', 'countRefused', 'tokenBucket', 'fixedWindow', 'slidingWindow', 'slidingLog', 'quota'],
  ...['concurrency', 'unlimited', 'capacity', 'refill', 'window', 'from', 'period', 'timeZone', 'billingDay', 'expires'],
  ...['consecutiveFailures', 'free', 'firstWait', 'longestWait', 'forget'],
];

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z]/g, '');

/** The field that was probably meant: few letters away, or the same word cut or lengthened. */
function near(key: string): string {
  const given = plain(key).slice(0, 40);
  const [best] = fields
    .map((field) => {
      const name = plain(field);
      const extended = given.length >= 3 && (given.startsWith(name) || name.startsWith(given));
      return { field, far: Math.min(distance(given, name), extended ? 2.5 : Number.POSITIVE_INFINITY) };
    })
    // A field that exists elsewhere is no mend here.
    .filter(({ field, far }) => field !== key && far <= Math.min(2.5, plain(field).length / 2))
    .sort((a, b) => a.far - b.far);
  return best === undefined
    ? 'remove it, or see schema/rules.schema.json for the fields that exist'
    : `did you mean ${JSON.stringify(best.field)}?`;
}

function where(path: Path): string {
  const inside = path[0] === 'rules' ? path.slice(2) : path;
  return inside.length === 0 ? '' : `${inside.join('.')}: `;
}

/** What the schema says, in words of the rules file. */
function told(issue: z.core.$ZodIssue): string {
  const whole = issue.code === 'invalid_type' && issue.expected === 'int' ? 'expected a whole number' : issue.message;
  return whole
    .replace(/^Invalid input: (.*), received undefined$/, 'is missing; $1')
    .replace(/^Invalid input: /, '')
    .replace(/expected (?:object|record)/, 'expected fields with values')
    .replace(/expected array/, 'expected a list');
}

/** The value itself, unless it is long: a message without it sends people searching. */
function got({ input: value }: z.core.$ZodIssue): string {
  if (value === undefined || (typeof value === 'object' && value !== null)) return '';
  const text = `; got ${typeof value === 'number' ? String(value) : JSON.stringify(value)}`;
  return text.length > 100 ? '' : text;
}
