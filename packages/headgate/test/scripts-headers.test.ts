import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { defineScripts } from '../src/stores/redis/scripts.js';

const folder = new URL('../src/stores/redis/scripts/', import.meta.url);
const files = readdirSync(folder).filter((file) => file.endsWith('.lua'));
const definitions = Object.values(defineScripts());

/** The comment at the top of a script. */
function headerOf(file: string): string {
  const lines = readFileSync(new URL(file, folder), 'utf8').split('\n');
  return lines
    .slice(
      0,
      lines.findIndex((line) => !line.startsWith('-- ')),
    )
    .join('\n');
}

/** Numbers of the arguments a text names, each once, in order of appearance. */
const argumentsIn = (text: string): number[] => [...new Set([...text.matchAll(/ARGV\[(\d+)\]/g)].map(([, n]) => Number(n)))];

describe('every script', () => {
  it('has a file and a definition', () => {
    expect(definitions.map(({ name }) => `${name}.lua`).sort()).toEqual([...files].sort());
  });

  describe.each(definitions.map((definition) => [definition.name, definition] as const))('%s', (name, { args, source, sha }) => {
    const header = headerOf(`${name}.lua`);

    it('says what it is for, its keys, its reply, its TTL, and why it must be atomic', () => {
      const lines = header.split('\n');
      expect(lines[0]).toMatch(new RegExp(`^-- ${name}: .+\\.$`));
      for (const what of ['KEYS(\\[1\\])?', 'reply', 'TTL', 'atomic']) {
        expect(
          lines.filter((line) => new RegExp(`^-- ${what}: .+`).test(line)),
          what,
        ).toHaveLength(1);
      }
    });

    it('lists the arguments that its definition names, and uses no other', () => {
      const listed = [...header.matchAll(/ARGV\[(\d+)\]: /g)].map(([, n]) => Number(n));
      expect(listed).toEqual(args.map((_, index) => index + 1));
      expect(argumentsIn(source).sort((a, b) => a - b)).toEqual(listed);
    });

    it('reads numbers as numbers', () => {
      for (const [, before, n] of source.matchAll(/([\w.]*\(?)ARGV\[(\d+)\]/g)) {
        const isText = ['holder', 'member'].includes(args[Number(n) - 1] ?? '');
        if (!isText) expect(before, `ARGV[${n}]`).toMatch(/^(tonumber|cjson\.decode)\($/);
      }
    });

    it('writes no key without a TTL', () => {
      for (const [call] of source.matchAll(
        /call\('(SET|SETEX|PSETEX|INCR|INCRBY|APPEND|HSET|PEXPIRE)'[^\n]*|call\('ZADD'[^\n]*\n[^\n]*/g,
      )) {
        expect(call).toMatch(/PSETEX|PEXPIRE|'PX'/);
      }
      expect(source).not.toMatch(/call\('PERSIST'/);
    });

    it('reads Redis’s clock once, and is named by the hash of what is sent', () => {
      expect(source.match(/redis\.call\('TIME'\)/g)).toHaveLength(1);
      expect(source.startsWith(`-- ${name}:`) || source.includes('local now')).toBe(true);
      expect(sha).toBe(createHash('sha1').update(source).digest('hex'));
      expect(source).not.toContain('--@include');
    });

    it('uses nothing that Redis 6.2 and Valkey 7.2 lack, and accesses no key that it was not given', () => {
      const commands = [...source.matchAll(/call\('(\w+)'/g)].map(([, command]) => command);
      const since26 = [
        'TIME',
        'GET',
        'MGET',
        'EXISTS',
        'SET',
        'PSETEX',
        'PTTL',
        'PEXPIRE',
        'DEL',
        'ZADD',
        'ZREM',
        'ZCARD',
        'ZREMRANGEBYSCORE',
      ];
      expect(commands.filter((command) => !since26.includes(command ?? ''))).toEqual([]);
      expect(source).not.toMatch(/call\('\w+', '/);
    });
  });
});
