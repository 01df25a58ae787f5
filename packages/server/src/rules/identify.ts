import { clientAddress, normalizeAddress, type Headers, type Trust } from 'headgate/http';
import { bearerIn } from '../bearer.js';

/** Where a part of a request comes from. */
export type SourcePart = { readonly from: 'header' | 'cookie'; readonly name: string } | { readonly from: 'bearer' };

/** A part of a rule's key. */
export type KeyPart = SourcePart | { readonly from: 'ip' | 'apiKey' | 'account' } | { readonly from: 'constant'; readonly value: string };

/** A request as identification sees it: no framework's own. `headers` has each field's lines apart. */
export interface Identifiable {
  readonly socketAddress: string | undefined;
  readonly headers: Headers;
}

export interface Identification {
  readonly trust: Trust;
  readonly ipv6Prefix: number;
  readonly sources: { readonly apiKey: readonly SourcePart[]; readonly account: readonly SourcePart[] };
}

function compileSource(text: string): SourcePart | undefined {
  if (text === 'bearer') return { from: 'bearer' };
  const [, kind, name] = /^(header|cookie):([!#$%&'*+.^_`|~0-9A-Za-z-]+)$/.exec(text) ?? [];
  if (name === undefined) return undefined;
  return kind === 'header' ? { from: 'header', name: name.toLowerCase() } : { from: 'cookie', name };
}

export function compileSources(texts: readonly string[]): SourcePart[] {
  return texts.map(compileSource).filter((part) => part !== undefined);
}

const named = ['ip', 'apiKey', 'account'] as const;

/** Compiles a rule's key. A constant that looks like a misspelt part is an error: it would be one budget for everybody. */
export function compileKey(parts: readonly string[]): KeyPart[] {
  return parts.map((text): KeyPart => {
    const source = compileSource(text);
    if (source !== undefined) return source;
    const known = named.find((name) => name === text);
    if (known !== undefined) return { from: known };
    const plain = text.toLowerCase().replace(/[^a-z]/g, '');
    const meant = [...named, 'bearer', 'header:<name>', 'cookie:<name>'].find((name) => {
      const other = name.toLowerCase().replace(/:.*/, '');
      return plain === other || plain === `${other}s` || plain === `client${other}` || (name.includes(':') && plain.startsWith(other));
    });
    if (meant !== undefined)
      throw new Error(`key: ${JSON.stringify(text)} would be a constant, one budget for everybody; did you mean ${JSON.stringify(meant)}?`);
    return { from: 'constant', value: text };
  });
}

/** A field that came more than once with different values: which of them counts, the server behind may see otherwise. */
const several = Symbol('several values');

type Found = string | typeof several | undefined;

function one(value: Headers[string]): Found {
  if (typeof value === 'string') return value.trim();
  const [first, ...others] = value ?? [];
  const found = first?.trim();
  return others.some((line) => line.trim() !== found) ? several : found;
}

/** HTTP/2 may split the field, and browsers send one name for several paths, the nearest first. */
function cookie(value: Headers[string], name: string): Found {
  const pairs = (typeof value === 'string' ? [value] : (value ?? [])).flatMap((line) => line.split(';'));
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === name)
      return pair
        .slice(equals + 1)
        .trim()
        .replace(/^"(.*)"$/, '$1');
  }
  return undefined;
}

function fromSource(part: SourcePart, headers: Headers): Found {
  if (part.from === 'header') return one(Object.hasOwn(headers, part.name) ? headers[part.name] : undefined);
  if (part.from === 'cookie') return cookie(headers['cookie'], part.name);
  const value = one(headers['authorization']);
  return typeof value === 'string' ? bearerIn(value) : value;
}

const first = (parts: readonly SourcePart[], headers: Headers): Found =>
  parts.map((part) => fromSource(part, headers)).find((value) => value !== undefined && value !== '');

function partOf(part: KeyPart, { socketAddress, headers }: Identifiable, { trust, ipv6Prefix, sources }: Identification): Found {
  switch (part.from) {
    case 'constant':
      return part.value;
    case 'ip': {
      const address = clientAddress({ socketAddress, headers, trust });
      return address === undefined ? undefined : normalizeAddress(address, { ipv6Prefix });
    }
    case 'apiKey':
      return first(sources.apiKey, headers);
    case 'account':
      return first(sources.account, headers);
    default:
      return fromSource(part, headers);
  }
}

/** The names under which a request's customer may have a plan, and his address. What is there several times is no name. */
export function customerOf(request: Identifiable, { trust, sources }: Identification): { names: string[]; address: string | undefined } {
  const { socketAddress, headers } = request;
  const found = [first(sources.account, headers), first(sources.apiKey, headers)];
  return {
    names: found.flatMap((name) => (typeof name === 'string' && name !== '' ? [name] : [])),
    address: clientAddress({ socketAddress, headers, trust }),
  };
}

/** A part of a key as the rules file writes it. */
export function describePart(part: KeyPart): string {
  return 'name' in part ? `${part.from}:${part.name}` : part.from;
}

/** A request's key, or which part of it is not there, or is there with several values. */
export type FoundKey = { readonly key: string } | { readonly missing: KeyPart } | { readonly several: KeyPart };

/**
 * A request's key under a rule: its one part, or all parts as JSON, so that no two combinations meet. A part that is not there
 * makes the key missing; it never becomes one budget for everybody. Nor is a field that is sent twice a key: a client would have a
 * fresh budget for each second value it makes up.
 */
export function keyOf(parts: readonly KeyPart[], request: Identifiable, by: Identification): FoundKey {
  const values: string[] = [];
  for (const part of parts) {
    const value = partOf(part, request, by);
    if (value === several) return { several: part };
    if (value === undefined || value === '') return { missing: part };
    values.push(value);
  }
  return { key: values.length === 1 ? (values[0] ?? '') : JSON.stringify(values) };
}
