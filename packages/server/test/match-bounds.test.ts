import { describe, expect, it } from 'vitest';
import { compileMatch, type MatchEntry } from '../src/rules/match.js';
import type { MatchIndex } from '../src/rules/match-index.js';
import { segmentsOf } from '../src/rules/match-path.js';
import { atOnce } from '../src/rules/slices.js';
import { buildTrie, walk, type TrieNode } from '../src/rules/match-trie.js';
import { matcherOf } from './support/matching.js';

const trieOf = (entries: readonly MatchEntry[]): TrieNode =>
  atOnce(buildTrie(entries.map((entry, order) => ({ order, ...compileMatch(entry) }))));

const sizeOf = ({ literals, parameter }: TrieNode): number =>
  1 + [...(literals?.values() ?? []), ...(parameter === undefined ? [] : [parameter])].reduce((sum, node) => sum + sizeOf(node), 0);

const visitedOf = (trie: TrieNode, target: string): number => walk(trie, segmentsOf(target), []);

describe('what finding rules may cost', () => {
  it('is each place of the tree once at most, though every segment goes two ways', () => {
    // All 1,024 ways to write ten segments as text or parameter, each ending in what no request has.
    const entries = Array.from({ length: 1024 }, (_, n) => ({
      path: `/${Array.from({ length: 10 }, (__, at) => ((n >> at) & 1 ? ':x' : 'a')).join('/')}/end`,
    }));
    const trie = trieOf(entries);
    expect(sizeOf(trie)).toBe(2 ** 11 - 1 + 1024);
    for (const length of [10, 11, 100, 4000]) expect(visitedOf(trie, '/a'.repeat(length)), `${length}`).toBe(2 ** 11 - 1);
    // The same path twice is no more: the places are those of the rules, not of the ways through them.
    expect(walk(trie, segmentsOf('/b'.repeat(4000)), [])).toBe(11);
  });

  it('is one place a segment where 10,000 rules share their parameters', () => {
    const trie = trieOf(Array.from({ length: 10_000 }, (_, n) => ({ path: `/${':x/'.repeat(20)}leaf${n}` })));
    expect(visitedOf(trie, `${'/a'.repeat(20)}/leaf77`)).toBe(22);
    expect(visitedOf(trie, '/a'.repeat(8000))).toBe(21);
  });

  it('does not grow with a path beyond the longest pattern', () => {
    const trie = trieOf([{ path: '/*' }, { path: '/:a/*' }, { path: '/:a/:b/c' }]);
    const indexes: MatchIndex[] = [];
    expect(walk(trie, segmentsOf(`/${'x/'.repeat(8000)}`), indexes)).toBe(3);
    expect(indexes).toHaveLength(2);
  });

  it('is little for fields and hosts that are sent by the thousand', () => {
    const entries = Array.from({ length: 10_000 }, (_, n) => ({
      host: [`h${n}.org`, '*.org'],
      header: { 'x-a': `v${n}`, 'x-b': ['1', '2'] },
      plan: 'p',
    }));
    const match = matcherOf(entries);
    const headers = {
      'x-a': Array.from({ length: 4000 }, () => 'v1,x'),
      'x-b': ['1'.repeat(8000), Array.from({ length: 4000 }, () => '2').join(',')],
    };
    const since = performance.now();
    for (let i = 0; i < 10; i += 1)
      expect(match({ host: Array.from({ length: 16 }, (_, n) => `${n}.org`), headers, plan: 'p' })).toEqual([1]);
    expect(performance.now() - since).toBeLessThan(2000);
  });

  it('is no stack: a path and a pattern may be as long as a request and a file let them', () => {
    const path = '/a'.repeat(1024);
    expect(matcherOf([{ path }])({ target: path })).toEqual([0]);
    expect(matcherOf([{ path: '/search' }])({ target: `${'/..'.repeat(5000)}/search` })).toEqual([0]);
  });
});

describe('10,000 rules', () => {
  it('are found each by its own request, in every way to tell them apart', () => {
    const count = 10_000;
    const ways: [(n: number) => MatchEntry, (n: number) => Parameters<ReturnType<typeof matcherOf>>[0]][] = [
      [(n) => ({ path: `/a/${n % 100}/:id/${n}` }), (n) => ({ target: `/a/${n % 100}/x/${n}` })],
      [(n) => ({ path: '/a', host: `h${n}.org` }), (n) => ({ target: '/a', host: `h${n}.org` })],
      [(n) => ({ path: '/a', header: { 'x-a': `${n}` } }), (n) => ({ target: '/a', headers: { 'x-a': [`${n}`] } })],
      [
        (n) => ({ header: { 'x-a': `${n % 100}`, 'x-b': `${(n / 100) | 0}` } }),
        (n) => ({ headers: { 'x-a': [`${n % 100}`], 'x-b': [`${(n / 100) | 0}`] } }),
      ],
      [(n) => ({ plan: `p${n}` }), (n) => ({ plan: `p${n}` })],
    ];
    for (const [entryOf, requestOf] of ways) {
      const match = matcherOf(Array.from({ length: count }, (_, n) => entryOf(n)));
      for (let n = 0; n < count; n += 97) expect(match(requestOf(n))).toEqual([n]);
    }
  });
});
