import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadRules } from '../src/rules/load.js';

const name = 'busted_match.yaml';
const busted = readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8');

function messageOf(text: string): string {
  try {
    loadRules(name, text);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}

const rule = (match: string, rest = ''): string => `version: 1
${rest}
rules:
  - { name: a, match: ${match}, key: [ip], limit: { unlimited: {} } }
`;

describe('a match with faults', () => {
  it('tells all of them at once, each with field, value and mend', () => {
    const lines = messageOf(busted).split('\n');
    const told = (line: number, ...parts: string[]) =>
      expect(
        lines.some((text) => text.startsWith(`${name}:${line}: `) && parts.every((part) => text.includes(part))),
        `${line} ${parts}\n${lines.join('\n')}`,
      ).toBe(true);
    told(3, 'rule "idn"', 'match.host', 'write "*.xn--bcher-kva.example"', 'got "*.bücher.example"');
    told(4, 'rule "port"', 'match.host', 'without its port', 'got "api.example.com:8443"');
    told(5, 'rule "star"', 'match.host.1', 'only at the start', 'got "api.*.com"');
    told(6, 'rule "any"', 'match.host', 'leave "host" out', 'got "*"');
    told(7, 'rule "url"', 'match.host', 'without scheme', 'got "https://example.com/"');
    told(8, 'rule "v6"', 'match.host', 'IPv6', 'got "[::1]"');
    told(9, 'rule "odd"', 'match.host', '"api.example.com"', 'got "-a..b"');
    told(10, 'rule "kind"', 'match.host', '"api.example.com"', 'got 5');
    told(11, 'rule "several"', 'match.host', 'got "a b"');
    told(11, 'rule "several"', 'match.header.x y', 'such as x-client');
    told(11, 'rule "several"', 'match.plan', 'write at least one');
    told(15, 'rule "fields"', 'match.header.x-number', '"1" in quotes', 'got 1');
    told(16, 'rule "fields"', 'match.header.x-absent', 'absent cannot be asked');
    told(17, 'rule "fields"', 'match.header.x-not', 'absent cannot be asked', 'got false');
    told(18, 'rule "fields"', 'match.header.x-spaces', 'without spaces around', 'got " a"');
    told(19, 'rule "fields"', 'match.header.x-list.1', 'visible ASCII', 'got "ü"');
    told(20, 'rule "fields"', 'match.header.x-star.1', '"*" stands alone');
    told(21, 'rule "fields"', 'match.header.x-empty', 'exact value', 'got ""');
    told(24, 'rule "none"', 'match.header', '1 to 16 header fields');
    told(25, 'rule "twice"', 'match.header', 'the same in any case');
    told(26, 'rule "typo"', '"hosts"', 'did you mean "host"?');
    told(26, 'rule "typo"', '"headers"', 'did you mean "header"?');
    told(26, 'rule "typo"', '"plans"', 'did you mean "plan"?');
    told(27, 'rule "planned"', 'match.plan', 'identify: { plan: [header:x-plan] }');
    expect(lines).toHaveLength(25);
  });

  it('does not hide the fault of its path behind others of other rules', () => {
    expect(messageOf(rule('{ path: /a/*/b }'))).toMatch(/^busted_match\.yaml:4: rule "a": match\.path: "\/a\/\*\/b"/);
    expect(messageOf(rule(`{ path: "/${'a/'.repeat(2000)}" }`))).toMatch(/match\.path: a path has at most 2048 characters/);
  });
});

describe('the sources of a plan', () => {
  const match = '{ plan: pro }';

  it('are fields, as a client makes up cookies and tokens', () => {
    for (const source of ['cookie:plan', 'bearer', 'x-plan'])
      expect(messageOf(rule(match, `identify: { plan: [${source}], trustProxies: 1 }`)), source).toMatch(
        new RegExp(`:2: identify\\.plan\\.0: write header:<name>.*; got "${source}"$`, 'm'),
      );
  });

  it('need somebody who is trusted', () => {
    for (const trust of ['', ', trustProxies: []', ', trustProxies: 0'])
      expect(messageOf(rule(match, `identify: { plan: [header:x-plan]${trust} }`)), trust).toMatch(/:2: identify\.plan: .*trustProxies/);
    for (const trust of ['1', '[10.0.0.0/8]'])
      expect(messageOf(rule(match, `identify: { plan: [header:x-plan], trustProxies: ${trust} }`))).toBe('');
  });

  it('are none by default, and then no rule asks for a plan', () => {
    expect(loadRules('a', rule('{ path: /a }')).sources.plan).toEqual([]);
    expect(messageOf(rule(match, 'identify: { plan: [] }'))).toMatch(/:4: rule "a": match\.plan: no request has a plan/);
  });
});

it('a match without faults may ask for everything at once', () => {
  const text = rule(
    '{ method: [GET, POST], path: "/a/:b/*", host: ["API.example.com.", "*.xn--bcher-kva.example"], header: { X-Client: [ios, web], x-beta: "*" }, plan: [pro, max] }',
    'identify: { plan: [header:X-Plan], trustProxies: 1 }',
  );
  const { matcher, sources } = loadRules('a', text);
  expect(sources.plan).toEqual([{ from: 'header', name: 'x-plan' }]);
  const asked = { lines: [{ method: 'HEAD', target: '/a/1/2' }], hosts: ['shop.xn--bcher-kva.example'], plan: 'max' };
  const found = (headers: Record<string, string[]>) => matcher.match({ ...asked, headers }).map(({ name: each }) => each);
  expect(found({ 'x-client': ['web'], 'x-beta': ['on'] })).toEqual(['a']);
  expect(found({ 'x-client': ['web'] })).toEqual([]);
});
