import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { RulesError, type Fault } from '../src/rules/faults.js';
import { loadRules } from '../src/rules/load.js';
import { rulesJsonSchema } from '../src/rules/schema.js';

const folder = fileURLToPath(new URL('fixtures/', import.meta.url));
const read = (name: string): string => readFileSync(folder + name, 'utf8');

function faultsIn(text: string, file = 'rules.yaml'): readonly Fault[] {
  try {
    loadRules(file, text);
  } catch (error) {
    if (error instanceof RulesError) return error.faults;
    throw error;
  }
  return [];
}

const shown = (name: string): string => {
  try {
    loadRules(name, read(name));
  } catch (error) {
    return (error as Error).message;
  }
  return '';
};

describe('a rules file with faults', () => {
  it('tells all of them at once, each with file, line, rule and the mend', () => {
    const lines = shown('busted_everything.yaml').split('\n');
    const told = (line: number, ...parts: string[]) =>
      expect(
        lines.some((text) => text.startsWith(`busted_everything.yaml:${line}: `) && parts.every((part) => text.includes(part))),
        `${line} ${parts}\n${lines.join('\n')}`,
      ).toBe(true);
    told(1, 'version', 'reads version 1', 'got 2');
    told(3, 'apiKey', 'header:<name>', '"heder:x-api-key"');
    told(4, 'trustProxies', '10.0.0.0/99');
    told(7, 'rule "typo"', 'unknown field "capacty"', 'did you mean "capacity"?');
    told(7, 'rule "typo"', 'tokenBucket.capacity: is missing');
    told(9, 'rule "rate"', 'refill', '"2/s"', 'got "2 per second"');
    told(10, 'rule "rate"', 'rule number 2 has the same name');
    told(12, 'rule "rate"', 'did you mean "missingKey"?');
    told(14, 'rule "two"', 'exactly one limit');
    told(16, 'rule "log"', 'slidingLog.limit', '1000', 'got 5000');
    told(18, 'rule "zone"', 'Mars/Olympus');
    told(20, 'rule "path"', '"*" stands only at the end');
    told(21, 'rule "path"', '"api-key" would be a constant', 'did you mean "apiKey"?');
    told(23, 'rule "keyless"', 'needs a "key"');
    told(25, 'rule "keyless"', 'limit.fixedWindow.limit', 'got 0.5');
    told(25, 'rule "keyless"', 'window', '"1m"', 'got "1mo"');
    told(27, 'rule "keyless"', 'plans.pro', 'window', 'got "20y"');
    told(28, 'rule number 9', 'name');
    expect(lines).toHaveLength(18);
    const order = lines.map((line) => Number(line.split(':')[1]));
    expect(order).toEqual([...order].sort((a, b) => a - b));
  });

  it('names each value once, also one that an alias repeats', () => {
    const rule = (limit: string) => `version: 1\nrules:\n  - { name: a, limit: &l ${limit} }\n  - { name: b, limit: *l }\n`;
    const messages = (limit: string) => faultsIn(rule(limit)).map(({ line, message }) => `${line} ${message}`);
    for (const value of ['1e19', '-1', '.nan', '0.5']) {
      expect(messages(`{ fixedWindow: { limit: ${value}, window: 1m } }`)).toEqual([
        expect.stringMatching(/^3 .*; got (1e\+?19|10000000000000000000|-1|NaN|0\.5)$/),
        expect.stringMatching(/^4 .*; got (1e\+?19|10000000000000000000|-1|NaN|0\.5)$/),
      ]);
    }
    expect(messages('{ quota: { limit: 1, period: day }, unlimited: {} }')[0]).toMatch(/exactly one limit: .*; got quota and unlimited$/);
  });

  it('never means "no limits"', () => {
    for (const name of ['busted_empty.yaml', 'busted_comment_only.yaml', 'busted_no_rules.yaml'])
      expect(shown(name)).toMatch(/not "no limits"/);
  });

  it('names the line of a syntax error, and of each', () => {
    expect(shown('busted_syntax.yaml')).toMatch(/^busted_syntax\.yaml:[56]: not valid YAML or JSON: /);
    expect(shown('busted_two_documents.yaml')).toMatch(/:\d: a second document begins here; write one file/);
    expect(shown('busted_duplicate_field.yaml')).toMatch(/^busted_duplicate_field\.yaml:2: .*unique/);
    expect(shown('busted_unknown_tag.yaml')).toMatch(/^busted_unknown_tag\.yaml:2: .*!include/);
  });

  it('may be JSON, with lines as well', () => {
    expect(shown('busted_65_rules_for_the_same_requests.yaml')).toBe(
      'busted_65_rules_for_the_same_requests.yaml:67: rule "r62": match: it is one of 65 rules that match the same requests; ' +
        'at most 64 are decided together: have fewer rules match the same request: narrow what they match, or give one rule several plans',
    );
    expect(shown('busted_unknown_field.json')).toBe('busted_unknown_field.json:4: rule "a": unknown field "shadw"; did you mean "shadow"?');
  });

  it('is refused without effort when its aliases multiply', () => {
    const start = performance.now();
    expect(shown('busted_alias_bomb.yaml')).toMatch(/^busted_alias_bomb\.yaml:1: .*alias/i);
    expect(performance.now() - start).toBeLessThan(1000);
  });

  it('is refused whatever else is wrong with it', () => {
    for (const name of readdirSync(folder).filter((file) => file.startsWith('busted_'))) {
      expect(shown(name), name).toMatch(/^busted_\w+\.(yaml|json):\d+: /);
    }
    for (const text of [
      '[]',
      '1',
      'null',
      '"x"',
      '{"version":1,"rules":{}}',
      '{"version":1,"rules":[null,1,[],{"name":{}}]}',
      '\u0000',
      '{"__proto__":{"version":1}}',
    ]) {
      expect(faultsIn(text), text).not.toHaveLength(0);
    }
  });

  it('is refused where the library has the last word', () => {
    const rule = 'version: 1\nrules:\n  - name: a\n    limit: { concurrency: { limit: 3, expires: 1m } }\n    countRefused: true\n';
    expect(faultsIn(rule)).toEqual([{ file: 'rules.yaml', line: 3, rule: '"a"', message: expect.stringContaining('countRefused') }]);
  });
});

describe('a rules file without faults', () => {
  it('takes every limit by its name, and any name', () => {
    const { rules, options } = loadRules('every_limit.yaml', read('every_limit.yaml'));
    expect([...rules.values()].map(({ options: { limit } }) => limit.kind)).toEqual([
      'tokenBucket',
      'fixedWindow',
      'slidingWindow',
      'slidingLog',
      'quota',
      'concurrency',
      'consecutiveFailures',
      'unlimited',
      'unlimited',
    ]);
    expect(Object.keys(options)).toContain('__proto__');
    expect(Object.keys(options['free']?.plans ?? {})).toEqual(['__proto__']);
    expect(rules.get('fixed')?.options).toMatchObject({ whenUnavailable: 'allow' });
    expect(rules.get('__proto__')).toMatchObject({
      missingKey: 'skip',
      key: [{ from: 'ip' }, { from: 'cookie', name: 'sid' }, { from: 'header', name: 'x-team' }, { from: 'constant', value: 'tenant' }],
    });
  });

  it('may begin with a byte order mark and end lines as Windows does', () => {
    expect(loadRules('a', '\uFEFFversion: 1\r\nrules:\r\n  - name: a\r\n    limit: { unlimited: {} }\r\n').rules.size).toBe(1);
  });

  it('may repeat itself by a few aliases', () => {
    const text = 'version: 1\nrules:\n  - { name: a, limit: &l { fixedWindow: { limit: 5, window: 1m } } }\n  - { name: b, limit: *l }\n';
    expect(loadRules('a', text).rules.size).toBe(2);
  });

  it('warns of one budget for all clients', () => {
    const text = 'version: 1\nrules:\n  - { name: all, match: { path: /a }, key: ["*"], limit: { unlimited: {} } }\n';
    expect(loadRules('a', text).warnings).toEqual([expect.stringContaining('all clients share one budget')]);
  });
});

it('tells of a mode that a limit cannot have, or that is none', () => {
  const rule = (rest: string) => faultsIn(`version: 1\nrules:\n  - { name: a, ${rest} }\n`).map(({ message }) => message);
  const minute = 'limit: { fixedWindow: { limit: 5, window: 1m } }';
  expect(rule(`mode: { sync: 1s }, ${minute}`)).toEqual([]);
  expect(rule(`mode: auto, ${minute}`)).toEqual([]);
  expect(rule(`mode: { sync: 10s }, ${minute}`)).toEqual([expect.stringContaining('at most a twentieth of the window, 3000 ms')]);
  expect(rule('mode: lease, limit: { concurrency: { limit: 5, expires: 1m } }')).toEqual([expect.stringContaining('only "exact" here')]);
  expect(rule(`mode: leas, ${minute}`)).toEqual([expect.stringContaining('mode')]);
});

it('tells of consecutive failures what cannot work, and that the gate has no use for them', () => {
  const rule = (options: string, rest = '') =>
    faultsIn(`version: 1\nrules:\n  - { name: a, limit: { consecutiveFailures: ${options} }${rest} }\n`).map(({ message }) => message);
  expect(rule('{}')).toEqual([]);
  expect(rule('{ limit: 0 }')).toEqual([expect.stringContaining('limit.consecutiveFailures.limit')]);
  expect(rule('{ forgets: 1d }')).toEqual([expect.stringContaining('did you mean "forget"?')]);
  expect(rule('{ forget: 1m }')).toEqual([expect.stringContaining('shorter than longestWait, "1h"; got "1m"')]);
  expect(rule('{}', ', mode: lease')).toEqual([expect.stringContaining('only "exact" here')]);
  expect(rule('{}', ', countRefused: true')).toEqual([expect.stringContaining('drop the option')]);
  expect(rule('{}', ', key: [ip], match: { path: /login }')).toEqual([expect.stringContaining('is asked by name, without "match"')]);
});

it('publishes its schema as JSON Schema, and the file is current (vitest -u writes it)', async () => {
  await expect(`${JSON.stringify(rulesJsonSchema(), null, 2)}\n`).toMatchFileSnapshot('../schema/rules.schema.json');
});
