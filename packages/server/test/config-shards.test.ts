import { describe, expect, it } from 'vitest';
import { readConfig } from '../src/config.js';
import { settingFaults } from './support/setting-faults.js';

const read = (args: string[], env: Record<string, string> = {}) =>
  readConfig(args, env).redis.map(({ name, address: { kind, nodes, password }, weight }) => {
    return { name, kind, hosts: nodes.map(({ host }) => host).join(), password, weight };
  });

const servers = (...texts: string[]): string[] => texts.flatMap((text) => ['--redis', text]);

describe('several Redis by name', () => {
  it('come from flags or from one variable, apart by white space, in any kind', () => {
    const expected = [
      { name: 'a', kind: 'single', hosts: 'h1', password: 'p=w', weight: 1 },
      { name: 'b.2', kind: 'cluster', hosts: 'h2,h3', password: undefined, weight: 0 },
      { name: 'c-3', kind: 'sentinel', hosts: 'h4', password: undefined, weight: 2.5 },
    ];
    const texts = ['a=redis://u:p=w@h1', 'b.2=redis+cluster://h2,h3', 'c-3=redis+sentinel://h4/main'];
    expect(read([...servers(...texts), '--weight', 'b.2=0', '--weight=c-3=2.5'])).toEqual(expected);
    expect(read([], { HEADGATE_REDIS: ` ${texts.join(' \n\t')}\n`, HEADGATE_WEIGHT: ' b.2=0\n c-3=2.5 ' })).toEqual(expected);
  });

  it('given as flags replace the variable, they are not added to it', () => {
    const env = { HEADGATE_REDIS: 'x=redis://hx y=redis://hy', HEADGATE_WEIGHT: 'a=3' };
    expect(read(servers('a=redis://h1', 'b=redis://h2'), env).map(({ name, weight }) => [name, weight])).toEqual([
      ['a', 3],
      ['b', 1],
    ]);
    expect(read([...servers('a=redis://h1'), '--weight', 'a=5'], env)).toMatchObject([{ name: 'a', weight: 5 }]);
  });

  it('may be one: with a name one shard, without a name one Redis as ever', () => {
    expect(read(servers('only=redis://h'))).toMatchObject([{ name: 'only', hosts: 'h', weight: 1 }]);
    expect(read(servers('redis://h'))).toMatchObject([{ name: undefined, hosts: 'h' }]);
    expect(read(servers('redis://u:a=b@h'))).toMatchObject([{ name: undefined, password: 'a=b' }]);
    expect(read([], { HEADGATE_REDIS: 'redis://u:correct horse battery@h' })).toMatchObject([{ password: 'correct horse battery' }]);
  });

  it('may have any name that the library takes, also one that objects have', () => {
    const names = ['__proto__', 'constructor', '10', '9', 'a'.repeat(64)];
    expect(read(servers(...names.map((name) => `${name}=redis://h`))).map(({ name }) => name)).toEqual(names);
  });
});

describe('faults of several Redis', () => {
  it('are all told, by name or number, with the mend and no part of a URL', () => {
    expect(settingFaults(servers('redis://h1', 'redis://h2'))).toEqual([
      '--redis number 1 has no name; of several servers each needs a name: a=redis://h1 b=redis://h2',
      '--redis number 2 has no name; of several servers each needs a name: a=redis://h1 b=redis://h2',
    ]);
    expect(settingFaults(servers('a=redis://h1', 'redis://h2', 'c=h3:6379'))).toEqual([
      expect.stringMatching(/^--redis number 2 has no name/),
      expect.stringMatching(/^--redis c: not an address that can be used; write redis:/),
    ]);
    expect(settingFaults(servers('a=redis://h1', 'b=redis://h2', 'a=redis://h3'))).toEqual([
      '--redis: two servers are called a; give each a name of its own, the same in every process',
    ]);
    expect(settingFaults([], { HEADGATE_REDIS: 'a=redis://h1 b=redis://u:hunter2@h:x' })).toEqual([
      expect.stringMatching(/^HEADGATE_REDIS b: host number 1/),
    ]);
    for (const name of ['', 'a b', 'ä', 'u:hunter2', 'a'.repeat(65)]) {
      const [fault = '', ...more] = settingFaults(servers(`${name}=redis://h`));
      expect([fault, more], name).toEqual([expect.stringMatching(/^--redis: the name before "=" is not 1 to 64 letters/), []]);
      expect(fault).not.toContain('hunter2');
    }
  });

  it('of weights show what was given', () => {
    const two = servers('a=redis://h1', 'b=redis://h2');
    for (const weight of ['a', 'a=', 'a=x', 'a=-1', 'a=1001', 'a=1e2', '=1', 'a=1,b=2'])
      expect(settingFaults([...two, '--weight', weight])).toEqual([
        `--weight: expected NAME=N with N from 0 to 1000, such as a=2; got ${JSON.stringify(weight)}`,
      ]);
    expect(settingFaults([...two, '--weight', 'c=1'])).toEqual(['--weight: c is none of the servers (a, b)']);
    expect(settingFaults([...two, '--weight', 'a=1', '--weight', 'a=2'])).toEqual(['--weight: a has two weights; leave one']);
    expect(settingFaults(two, { HEADGATE_WEIGHT: 'a=0 b=0' })).toEqual([
      'HEADGATE_WEIGHT: all servers are taken out; at least one must have a weight above 0',
    ]);
    for (const args of [[], servers('redis://h')])
      expect(settingFaults([...args, '--weight', 'a=1'])).toEqual([
        expect.stringMatching(/^--weight: only servers with names have weights/),
      ]);
  });
});
