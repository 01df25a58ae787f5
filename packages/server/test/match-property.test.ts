import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { MatchEntry } from '../src/rules/match.js';
import { matcherOf, type Request } from './support/matching.js';

const list = (value: string | readonly string[]): string[] => [value].flat() as string[];

/** A path with its segments decoded once, joined again so that no two paths meet. */
function canonical(path: string, isUrl = false): string {
  const decoded = path
    .replace(/^\//, '')
    .split('/')
    .map((part) => decodeURIComponent(part));
  const kept: string[] = [];
  for (const part of decoded) {
    if (part === '..') kept.pop();
    else if (part !== '.' && (isUrl || part !== '')) kept.push(part);
  }
  const parts = kept.filter((part) => part !== '');
  const isOpen = parts.length > 0 && ['', '.', '..'].includes(decoded.at(-1) ?? '');
  return `/${parts.map(encodeURIComponent).join('/')}${isOpen ? '/' : ''}`;
}

const pathOf = (target: string): string => target.replace(/^[a-z]+:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');

/** As servers may read a target: `\` as text or as a slash, `//name` as segments or as a host, `//..` as one step back or none. */
function pathsIn(target: string): string[] {
  const path = pathOf(target);
  const slashed = path.replaceAll('\\', '/');
  const withoutHost = slashed.startsWith('//') ? [canonical(slashed.replace(/^\/+[^/]*/, ''), true)] : [];
  return [canonical(path), canonical(slashed), canonical(slashed, true), ...withoutHost];
}

/** A pattern as a regular expression over canonical paths. */
function expressionOf(pattern: string): RegExp {
  if (pattern === '/*') return /^/;
  const text = pattern
    .replace(/\/$/, '')
    .split('/')
    .map((part) => (part === '*' ? '.*' : part.startsWith(':') ? '[^/]+' : encodeURIComponent(decodeURIComponent(part))))
    .join('/');
  return new RegExp(pattern.endsWith('/*') ? `^${text}$` : `^${text}/?$`);
}

/** A rule as plainly as it can be asked. */
function isFor(entry: MatchEntry, { lines = [], host = [], headers = {}, plan }: Request): boolean {
  const { method, path, header = {}, plan: plans } = entry;
  const authorities = lines.flatMap(({ target }) => /^[a-z]+:\/\/([^/?#]*)/i.exec(target)?.[1] ?? []);
  const hosts = [...list(host), ...authorities].map((one) => one.toLowerCase().replace(/:.*$/, '').replace(/\.$/, ''));
  const onLine = lines.some(
    (line) =>
      (method === undefined || list(method).some((one) => one === line.method || (one === 'GET' && line.method === 'HEAD'))) &&
      (path === undefined || pathsIn(line.target).some((each) => expressionOf(path).test(each))),
  );
  const onHost =
    entry.host === undefined ||
    list(entry.host).some((one) =>
      hosts.some((each) => (one.startsWith('*') ? each.endsWith(one.slice(1)) && each !== one.slice(1) : each === one)),
    );
  const onFields = Object.entries(header).every(([name, value]) => {
    const sent = list(headers[name] ?? []);
    const values = sent.flatMap((line) => [line, ...line.split(',').map((member) => member.trim())]);
    return value === '*' ? sent.length > 0 : list(value).some((one) => values.includes(one));
  });
  return onLine && onHost && onFields && (plans === undefined || (plan !== undefined && list(plans).includes(plan)));
}

const oneOrSeveral = (one: fc.Arbitrary<string>) =>
  fc.oneof({ weight: 3, arbitrary: one }, fc.uniqueArray(one, { minLength: 1, maxLength: 3 }));
const sometimes = <T>(one: fc.Arbitrary<T>) => fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 2, arbitrary: one });

const methods = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT');
const names = fc.constantFrom('a.org', 'b.org', 'x.a.org', 'x.y.a.org', 'org');
const fields = fc.constantFrom('x-a', 'x-b', 'x-c');
const values = fc.constantFrom('1', '2', '3', '1, 2');
const plans = fc.constantFrom('free', 'pro', 'max');

const pattern = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', 'c', ':x', ':y', 'a%2Fb', '%63'), { maxLength: 4 }), fc.constantFrom('', '', '/', '/*'))
  .map(([parts, end]) => (parts.length === 0 ? (end === '/*' ? '/*' : '/') : `/${parts.join('/')}${end}`));

const entry: fc.Arbitrary<MatchEntry> = fc.record({
  // Many rules on one path are told apart by the rest.
  path: fc.oneof(pattern, fc.constantFrom(undefined, '/a', '/:x', '/*')),
  method: sometimes(oneOrSeveral(methods)),
  host: sometimes(oneOrSeveral(fc.oneof(names, fc.constantFrom('*.a.org', '*.org', '*.y.a.org')))),
  header: sometimes(fc.dictionary(fields, fc.oneof(fc.constant('*'), oneOrSeveral(values)), { minKeys: 1, maxKeys: 2 })),
  plan: sometimes(oneOrSeveral(plans)),
});

const target = fc
  .tuple(
    fc.constantFrom('/', '/', '/', '//', 'http://b.org/', '\\'),
    fc.array(fc.constantFrom('a', 'b', 'c', 'a', 'b', 'c', 'a%2fb', '%61', '', '.', '..', '%2e%2E', 'a\\b', 'd'), { maxLength: 6 }),
    fc.constantFrom('', '/', '?q=/a\\b', '#/b'),
  )
  .map(([start, parts, end]) => start + parts.join('/') + end);

const request: fc.Arbitrary<Request> = fc.record({
  lines: fc.array(fc.record({ method: methods, target: fc.oneof(target, fc.constant('/a')) }), { minLength: 1, maxLength: 3 }),
  host: fc.array(
    fc.tuple(names, fc.constantFrom('', ':80', '.')).map((parts) => parts.join('')),
    { maxLength: 3 },
  ),
  headers: fc.dictionary(fields, fc.array(values, { maxLength: 3 })),
  plan: sometimes(plans),
}) as fc.Arbitrary<Request>;

it('finds of any rules, for any request, those that a loop over all of them finds', () => {
  const found = new Map<number, number>();
  fc.assert(
    fc.property(
      fc.array(entry, { minLength: 1, maxLength: 60, size: 'max' }),
      fc.array(request, { minLength: 5, maxLength: 5 }),
      (entries, requests) => {
        const match = matcherOf(entries);
        for (const each of requests) {
          const expected = entries.flatMap((one, place) => (isFor(one, each) ? [place] : []));
          expect(match(each)).toEqual(expected);
          found.set(Math.min(expected.length, 5), (found.get(Math.min(expected.length, 5)) ?? 0) + 1);
        }
      },
    ),
    { numRuns: 500 },
  );
  // Else the property would say little: none, few and many were found, each often.
  for (const count of [0, 1, 2, 5]) expect(found.get(count), `${count}`).toBeGreaterThan(100);
});

it('never takes a rule away for a line, host, field or value that is added', () => {
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 30 }), request, request, (entries, one, other) => {
      const match = matcherOf(entries);
      const fieldsOfBoth = [...new Set([...Object.keys(one.headers ?? {}), ...Object.keys(other.headers ?? {})])];
      const both: Request = {
        ...one,
        lines: [...(one.lines ?? []), ...(other.lines ?? [])],
        host: [...list(one.host ?? []), ...list(other.host ?? [])],
        headers: Object.fromEntries(
          fieldsOfBoth.map((name) => [name, [...list(one.headers?.[name] ?? []), ...list(other.headers?.[name] ?? [])]]),
        ),
      };
      expect(match(both)).toEqual(expect.arrayContaining(match(one)));
    }),
    { numRuns: 1000 },
  );
});

it('is found for the path that a server reads by `new URL`, however it is spelled', () => {
  const odd = fc.array(fc.constantFrom('/', '/', '\\', '.', '..', '%2e', '%2E.', 'a', 'b', '%61', 'c%2Fd', ';e', 'F'), {
    minLength: 1,
    maxLength: 12,
  });
  let different = 0;
  fc.assert(
    fc.property(odd, fc.constantFrom('', '?x', '#x'), (parts, end) => {
      const sent = `/${parts.join('')}${end}`;
      fc.pre(URL.canParse(sent, 'http://host'));
      const segments = new URL(sent, 'http://host').pathname.split('/').filter((part) => part !== '');
      const path = `/${segments.join('/')}`;
      if (path !== sent) different += 1;
      expect(matcherOf([{ path }])({ target: sent }), `${sent} is ${path}`).toEqual([0]);
    }),
    { numRuns: 5000 },
  );
  expect(different).toBeGreaterThan(2000);
});
