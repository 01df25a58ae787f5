import type { Headers } from 'headgate/http';
import { hostOf } from './match-host.js';
import type { Condition, Facts } from './match-index.js';

/** What a request says beside its lines. `headers` has each field's lines apart; `plan` is what a trusted gateway told. */
export interface Circumstances {
  readonly hosts: readonly string[];
  readonly headers: Headers;
  readonly plan: string | undefined;
}

/** What rules ask of one header field: to be there, and its values with the key of each. */
interface Field {
  readonly name: string;
  isAsked: boolean;
  readonly values: Map<string, string>;
}

/** Everything that some rule asks for: the rest of a request is not looked at. */
export interface Vocabulary {
  /** By each method that is asked for, its keys. */
  readonly methods: ReadonlyMap<string, readonly string[]>;
  readonly hosts: ReadonlySet<string>;
  /** How many labels the longest ending has that a `*.` stands before. */
  readonly labels: number;
  readonly fields: ReadonlyMap<string, Field>;
}

/** The key of a header field that is there, or has a value. A field's name has no colon. */
export const headerKey = (name: string, value?: string): string => (value === undefined ? name : `${name}:${value}`);

export function vocabularyOf(conditions: Iterable<Condition>): Vocabulary {
  const methods = new Map<string, readonly string[]>();
  const hosts = new Set<string>();
  const fields = new Map<string, Field>();
  let labels = 0;
  for (const { dimension, keys } of conditions) {
    for (const key of keys) {
      if (dimension === 'method') methods.set(key, [key]);
      if (dimension === 'host') hosts.add(key);
      if (dimension === 'host' && key.startsWith('.')) labels = Math.max(labels, key.split('.').length - 1);
      if (dimension !== 'header') continue;
      const colon = key.indexOf(':');
      const name = colon < 0 ? key : key.slice(0, colon);
      const field = fields.get(name) ?? { name, isAsked: false, values: new Map<string, string>() };
      fields.set(name, field);
      if (colon < 0) field.isAsked = true;
      else field.values.set(key.slice(colon + 1), key);
    }
  }
  return { methods, hosts, labels, fields };
}

/** The name itself, and each of its endings, the shortest first. */
function addHost({ hosts, labels }: Vocabulary, text: string, found: string[]): void {
  const host = hostOf(text);
  if (host === undefined) return;
  if (hosts.has(host) && !host.startsWith('.')) found.push(host);
  let dot = host.length;
  for (let count = 0; count < labels; count += 1) {
    dot = host.lastIndexOf('.', dot - 1);
    if (dot <= 0) return;
    const ending = host.slice(dot);
    if (hosts.has(ending)) found.push(ending);
  }
}

/** Lines of one field may be joined on the way (RFC 9110, section 5.3): a line counts as a whole, and so does each member of it. */
function addField({ name, isAsked, values }: Field, lines: string | readonly string[], found: string[]): void {
  if (isAsked && lines.length > 0) found.push(headerKey(name));
  if (values.size === 0) return;
  for (const line of typeof lines === 'string' ? [lines] : lines) {
    const whole = values.get(line);
    if (whole !== undefined) found.push(whole);
    if (!line.includes(',')) continue;
    for (const member of line.split(',')) {
      const key = values.get(member.trim());
      if (key !== undefined) found.push(key);
    }
  }
}

/** More names than a request has fields: then its fields are looked up, not the names. */
const manyFields = 16;

function addFields(fields: Vocabulary['fields'], headers: Headers, found: string[]): void {
  for (const name of fields.size <= manyFields ? fields.keys() : Object.keys(headers)) {
    const field = fields.get(name);
    const lines = field !== undefined && Object.hasOwn(headers, name) ? headers[name] : undefined;
    if (field !== undefined && lines !== undefined) addField(field, lines, found);
  }
}

const none: readonly string[] = [];

const eachOnce = (keys: readonly string[]): readonly string[] => (keys.length < 2 ? keys : [...new Set(keys)]);

export function methodFacts({ methods }: Vocabulary, method: string): readonly string[] {
  return methods.get(method) ?? methods.get(method.toUpperCase()) ?? none;
}

/** A request's keys, but for its method. */
export function factsOf(vocabulary: Vocabulary, { hosts, headers, plan }: Circumstances): Facts {
  const hostKeys: string[] = [];
  const headerKeys: string[] = [];
  if (vocabulary.hosts.size > 0) for (const host of hosts) addHost(vocabulary, host, hostKeys);
  if (vocabulary.fields.size > 0) addFields(vocabulary.fields, headers, headerKeys);
  return { method: none, host: eachOnce(hostKeys), header: eachOnce(headerKeys), plan: plan === undefined ? none : [plan] };
}
