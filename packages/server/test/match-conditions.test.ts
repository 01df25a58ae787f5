import { describe, expect, it } from 'vitest';
import { planOf } from '../src/rules/match-plan.js';
import { compileSources } from '../src/rules/identify.js';
import { trustProxies } from 'headgate/http';
import { matcherOf, matches } from './support/matching.js';

describe('a host', () => {
  const isFor = (host: string | string[], asked: string | string[], target?: string) =>
    matches({ host }, { host: asked, ...(target === undefined ? undefined : { target }) });

  it('is compared without case, port and the dot at the end', () => {
    for (const asked of ['api.example.com', 'API.Example.COM', 'api.example.com:8443', 'api.example.com.', 'api.example.com.:443'])
      expect(isFor('API.example.com.', asked), asked).toBe(true);
    for (const asked of ['example.com', 'a.api.example.com', 'xapi.example.com', 'api.example.com.evil.org', '', ':80', '[::1]:80'])
      expect(isFor('api.example.com', asked), asked).toBe(false);
  });

  it('with a star is for all names below, at any depth, and not for the name itself', () => {
    for (const asked of ['a.example.com', 'a.b.c.example.com:80', 'A.EXAMPLE.com.'])
      expect(isFor('*.example.com', asked), asked).toBe(true);
    for (const asked of ['example.com', '.example.com', 'badexample.com', 'a.example.com.evil.org', 'example.com.'])
      expect(isFor('*.example.com', asked), asked).toBe(false);
    expect(matcherOf([{ host: '*.com' }, { host: '*.b.example.com' }, { host: '*.example.com' }])({ host: 'a.b.example.com' })).toEqual([
      0, 1, 2,
    ]);
  });

  it('may be one of several', () => {
    for (const asked of ['a.org', 'x.b.org']) expect(isFor(['a.org', '*.b.org'], asked), asked).toBe(true);
    expect(isFor(['a.org', '*.b.org'], 'b.org')).toBe(false);
  });

  it('of a request may be several, then any of them counts, once', () => {
    const match = matcherOf([{ host: 'a.org' }, { host: ['a.org', 'b.org', '*.org'] }, { host: 'c.org' }]);
    expect(match({ host: ['b.org', 'a.org'] })).toEqual([0, 1]);
  });

  it('is also the one that a whole URL as target names', () => {
    expect(isFor('api.example.com', 'elsewhere', 'http://user@api.example.com:80/a')).toBe(true);
    expect(isFor('elsewhere', 'elsewhere', 'http://api.example.com/a')).toBe(true);
    expect(isFor('api.example.com', 'elsewhere', '/?http://api.example.com/')).toBe(false);
  });

  it('that is longer than any name is none, and makes no work', () => {
    expect(isFor('*.a', `${'a.'.repeat(8000)}a`)).toBe(false);
  });
});

describe('a header field', () => {
  it('has its exact value, one of several, or any', () => {
    const isFor = (value: string | string[], sent: string) =>
      matches({ header: { 'X-Client': value } }, { headers: { 'x-client': [sent] } });
    expect([isFor('ios', 'ios'), isFor('ios', 'iOS'), isFor('ios', 'ios 2'), isFor('ios', '')]).toEqual([true, false, false, false]);
    expect([isFor(['ios', 'web'], 'web'), isFor(['ios', 'web'], 'tv')]).toEqual([true, false]);
    expect([isFor('*', 'tv'), isFor('*', '')]).toEqual([true, true]);
  });

  it('has to be there, and all that a rule names', () => {
    const entry = { header: { 'x-client': 'ios', 'x-beta': '*' } };
    expect(matches(entry, { headers: { 'x-client': ['ios'], 'x-beta': ['1'] } })).toBe(true);
    for (const headers of [{}, { 'x-client': ['ios'] }, { 'x-beta': ['1'] }, { 'x-client': ['web'], 'x-beta': ['1'] }])
      expect(matches(entry, { headers }), JSON.stringify(headers)).toBe(false);
  });

  it('counts by each of its lines, joined or not: a client that adds one takes no rule away', () => {
    const entry = { header: { 'x-client': 'ios' } };
    for (const lines of [['made-up', 'ios'], ['ios', 'made-up'], ['made-up, ios'], ['ios,made-up'], ['a', 'b , ios ,c']])
      expect(matches(entry, { headers: { 'x-client': lines } }), lines.join('|')).toBe(true);
    expect(matches({ header: { accept: 'text/html, */*' } }, { headers: { accept: ['text/html, */*'] } })).toBe(true);
  });

  it('is not what every object has', () => {
    for (const name of ['constructor', '__proto__', 'tostring']) {
      const entry = { header: Object.fromEntries([[name, '*']]) };
      expect(matches(entry, { headers: {} }), name).toBe(false);
      expect(matches(entry, { headers: Object.fromEntries([[name, ['a']]]) }), name).toBe(true);
    }
  });

  it('is found among many names, and among many values', () => {
    const byName = matcherOf(Array.from({ length: 1000 }, (_, n) => ({ header: { [`x-${n}`]: '*' } })));
    expect(byName({ headers: { 'x-7': ['a'], 'x-999': ['a'], 'x-1000': ['a'] } })).toEqual([7, 999]);
    const byValue = matcherOf(Array.from({ length: 1000 }, (_, n) => ({ header: { 'x-a': `v${n}`, 'x-b': 'same' } })));
    expect(byValue({ headers: { 'x-a': ['v7', 'v8'], 'x-b': ['same'] } })).toEqual([7, 8]);
  });
});

describe('a plan', () => {
  it('is exact, one or one of several; a request without one is of none', () => {
    const match = matcherOf([{ plan: 'free' }, { plan: ['free', 'pro'] }, {}]);
    expect(match({ plan: 'free' })).toEqual([0, 1, 2]);
    expect(match({ plan: 'pro' })).toEqual([1, 2]);
    expect(match({ plan: 'Free' })).toEqual([2]);
    expect(match({})).toEqual([2]);
  });

  const sources = { apiKey: [], account: [] };
  const told = (headers: Record<string, string[]>, { socketAddress = '10.0.0.1', from = ['header:x-plan', 'header:x-tier'] } = {}) =>
    planOf(compileSources(from), { socketAddress, headers }, { ipv6Prefix: 64, trust: trustProxies(['10.0.0.0/8']), sources });

  it('is the first of its sources that is there', () => {
    expect(told({ 'x-plan': ['pro'], 'x-tier': ['free'] })).toEqual({ plan: 'pro' });
    expect(told({ 'x-plan': [' '], 'x-tier': ['free'] })).toEqual({ plan: 'free' });
    expect(told({})).toEqual({ plan: undefined });
    expect(told({ 'x-plan': ['pro'] }, { from: [] })).toEqual({ plan: undefined });
  });

  it('is not believed of a peer that is not trusted', () => {
    expect(told({ 'x-plan': ['pro'] }, { socketAddress: '192.0.2.1' })).toEqual({ plan: undefined });
  });

  it('is none where several are told: a client that adds a line would choose', () => {
    expect(told({ 'x-plan': ['free', 'pro'] })).toEqual({ several: { from: 'header', name: 'x-plan' } });
    expect(told({ 'x-plan': ['pro', 'pro'] })).toEqual({ plan: 'pro' });
  });
});

describe('rules that match', () => {
  it('are all of them, in the order of the file, each once', () => {
    const match = matcherOf([
      { path: '/a/b' },
      undefined,
      { path: '/:x/b' },
      { path: '/*' },
      {},
      { method: 'POST' },
      { path: '/a/:y', host: 'h' },
      { path: '/a/*' },
      { path: '/a/b/*' },
    ]);
    expect(match({ target: '/a/b', host: 'h' })).toEqual([0, 2, 3, 4, 6, 7]);
    expect(
      match({
        lines: [
          { method: 'POST', target: '/a/b/' },
          { method: 'GET', target: '/' },
        ],
      }),
    ).toEqual([0, 2, 3, 4, 5, 7, 8]);
    expect(match({ lines: [] })).toEqual([]);
  });
});
