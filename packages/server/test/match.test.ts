import { describe, expect, it } from 'vitest';
import { compileMatch, segmentsOf } from '../src/rules/match.js';

const matches = (pattern: string, target: string, method = 'GET'): boolean =>
  compileMatch({ path: pattern })({ method, segments: segmentsOf(target) });

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
  });

  it('reads what is no valid encoding as it stands', () => {
    expect(matches('/100%', '/100%')).toBe(true);
    expect(matches('/:a', '/%ff%fe')).toBe(true);
  });

  it('is refused if it has a star elsewhere, an empty segment, dots or a query', () => {
    for (const pattern of ['/a/*/b', '/a*', '/a//b', '/a/../b', '/:', '/a?b=1'])
      expect(() => compileMatch({ path: pattern }), pattern).toThrow(/match\.path/);
  });
});

describe('a method', () => {
  it('counts HEAD as GET, in any case', () => {
    const match = compileMatch({ method: ['get', 'POST'] });
    const by = (method: string) => match({ method, segments: [] });
    expect(['GET', 'HEAD', 'post'].map(by)).toEqual([true, true, true]);
    expect(['PUT', 'OPTIONS'].map(by)).toEqual([false, false]);
    expect(compileMatch({ method: 'POST' })({ method: 'HEAD', segments: [] })).toBe(false);
    expect(compileMatch({})({ method: 'BREW', segments: ['pot'] })).toBe(true);
  });
});
