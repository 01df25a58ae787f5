import { describe, expect, it } from 'vitest';
import { compileMatch } from '../src/rules/match.js';
import { matches as matchesEntry } from './support/matching.js';

const matches = (path: string, target: string): boolean => matchesEntry({ path }, { target });

describe('a path pattern', () => {
  it('matches whole segments', () => {
    expect(matches('/search', '/search')).toBe(true);
    for (const other of ['/', '/searches', '/search/a', '/a/search', '/Search', '']) expect(matches('/search', other), other).toBe(false);
  });

  it('matches everything below, not beside, with a star at the end', () => {
    for (const target of ['/foo/a', '/foo/a/b', '/foo/', '/foo/a/']) expect(matches('/foo/*', target), target).toBe(true);
    for (const target of ['/foobar', '/foo', '/', '/a/foo/b']) expect(matches('/foo/*', target), target).toBe(false);
    for (const target of ['/', '/a', '/a/b', '']) expect(matches('/*', target), target).toBe(true);
  });

  it('matches any one segment by name, but not an empty one', () => {
    expect(matches('/users/:id/posts', '/users/7/posts')).toBe(true);
    for (const target of ['/users/posts', '/users//posts', '/users/7/8/posts'])
      expect(matches('/users/:id/posts', target), target).toBe(false);
    expect(matches('/users/:id', '/users/')).toBe(false);
  });

  it('cannot be slipped past by another spelling of the same path', () => {
    const spellings = [
      '/search?q=/x',
      '/search/',
      '//search',
      '/./search',
      '/a/../search',
      '/%73earch',
      '/a/%2e%2e/search',
      '/search#x',
      'http://host/search',
      '/../search',
      `${'/'.repeat(3000)}search`,
    ];
    for (const target of spellings) expect(matches('/search', target), target).toBe(true);
  });

  it('takes an encoded slash for text, not for a border', () => {
    expect(matches('/files/:name', '/files/a%2Fb')).toBe(true);
    expect(matches('/files/a/b', '/files/a%2fb')).toBe(false);
    expect(matches('/files/a%2fb', '/files/a%2Fb')).toBe(true);
    expect(matches('/files/a%2Fb', '/files/a%252Fb')).toBe(false);
    expect(matches('/search', '/a%2F..%2Fsearch')).toBe(false);
  });

  it('reads what is no valid encoding as it stands', () => {
    expect(matches('/100%', '/100%')).toBe(true);
    expect(matches('/:a', '/%ff%fe')).toBe(true);
  });

  it('may have percent-encoded text, also such as would mean something else', () => {
    expect(matches('/caf%C3%A9', '/caf\u00e9')).toBe(true);
    expect([matches('/%3Aid', '/:id'), matches('/%3Aid', '/7')]).toEqual([true, false]);
    expect([matches('/%2A', '/*'), matches('/%2A', '/a')]).toEqual([true, false]);
  });

  it('is for the whole path that a server may read in a target, where servers differ', () => {
    // As `new URL(target, base)` reads them.
    for (const target of [
      '/a\\..\\search',
      '/\\search',
      '\\search',
      '//host/search',
      '/\\host\\search',
      '///host:80/search?a',
      '/a//../../search',
      '/a/b//../../../search',
    ])
      expect(matches('/search', target), target).toBe(true);
    expect(matches('/a/search', '/a//../search')).toBe(true);
    // As others do: the backslash is text.
    expect(matches('/files/:name', '/files/a\\b')).toBe(true);
    expect(matches('/search', '/search?a=\\')).toBe(true);
  });

  it('takes what only some servers understand for text: other case, and parameters after a semicolon', () => {
    for (const target of ['/SEARCH', '/search;v=1', '/search%2F', '/search%5C']) expect(matches('/search', target), target).toBe(false);
    for (const target of ['/SEARCH', '/search;v=1', '/search%2F', '/search%5C']) expect(matches('/:any', target), target).toBe(true);
  });

  it('is decoded once only', () => {
    expect([matches('/%2573earch', '/%2573earch'), matches('/search', '/%2573earch')]).toEqual([true, false]);
  });

  it('is refused if it has a star elsewhere, an empty segment, dots or a query', () => {
    for (const pattern of ['/a/*/b', '/a*', '/a//b', '/a/../b', '/a/%2e%2E/b', '/:', '/a?b=1'])
      expect(() => compileMatch({ path: pattern }), pattern).toThrow(/match\.path/);
  });
});

describe('a method', () => {
  it('counts HEAD as GET, in any case', () => {
    const by = (method: string) => matchesEntry({ method: ['get', 'POST'] }, { method });
    expect(['GET', 'HEAD', 'post', 'head'].map(by)).toEqual([true, true, true, true]);
    expect(['PUT', 'OPTIONS', ''].map(by)).toEqual([false, false, false]);
    expect(matchesEntry({ method: 'POST' }, { method: 'HEAD' })).toBe(false);
    expect(matchesEntry({}, { method: 'BREW', target: '/pot' })).toBe(true);
  });
});
