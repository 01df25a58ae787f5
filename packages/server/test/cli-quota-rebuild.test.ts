import { execFile } from 'node:child_process';
import { createWriteStream, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readAccessLog, type LogLine } from '../src/cli/rebuild/access-log.js';
import { isInPart } from '../src/cli/rebuild/parts.js';
import { bin, ran } from './support/command.js';
import { start, temporary, type Started } from './support/service.js';

const rules = `version: 1
rules:
  - { name: search, key: [apiKey], limit: { fixedWindow: { limit: 2, window: 1h } } }
  - name: monthly
    key: [account]
    limit: { quota: { limit: 1000000, period: month, timeZone: Europe/Berlin } }
    plans: { yearly: { quota: { limit: 5000000, period: year, timeZone: UTC } } }
`;

interface Line {
  readonly time?: unknown;
  readonly [field: string]: unknown;
}

const ndjson = (lines: readonly (Line | string)[]): string =>
  lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n') + '\n';

function logFile(lines: readonly (Line | string)[], name = 'access.ndjson'): string {
  const file = join(temporary(), name);
  const text = ndjson(lines);
  writeFileSync(file, name.endsWith('.gz') ? gzipSync(text) : text);
  return file;
}

interface Quota {
  readonly used: number;
  readonly startsAt: string;
  readonly resetsAt: string;
}

const quotaOf = async ({ get }: Started, key: string, plan = ''): Promise<Quota> =>
  (await get(`/v1/quotas/${encodeURIComponent(key)}${plan === '' ? '' : `?plan=${plan}`}`)).json.quotas[0] as Quota;

const rebuild = ({ url }: Started, file: string, ...args: string[]) => ran(['quota', 'rebuild', '--from-log', file, '--url', url, ...args]);

describe('headgate quota rebuild', () => {
  it('sets what the log says within the period in force, by the calendar of each quota and plan; again it is the same', async () => {
    const service = await start({ rules });
    const [month, year] = [await quotaOf(service, 'x'), await quotaOf(service, 'x', 'yearly')];
    const at = (text: string, ms: number): number => new Date(text).getTime() + ms;
    const file = logFile([
      { time: at(month.startsAt, -1), rule: 'monthly', key: 'ann', cost: 1 },
      { time: at(month.startsAt, 0), rule: 'monthly', key: 'ann', cost: 20 },
      { time: new Date(at(month.resetsAt, -1)).toISOString(), rule: 'monthly', key: 'ann', cost: 300 },
      { time: at(month.resetsAt, 0), rule: 'monthly', key: 'ann', cost: 4000 },
      { time: at(year.startsAt, 0), rule: 'monthly', key: 'bob', plan: 'yearly', cost: 7 },
      { time: at(year.startsAt, -1), rule: 'monthly', key: 'bob', plan: 'yearly' },
      { time: at(month.startsAt, 0), rule: 'monthly', key: 'ann', allowed: false },
      { time: at(month.startsAt, 0), rule: 'search', key: 'ann' },
      { time: at(month.startsAt, 5), rule: 'monthly', key: '../😀', more: {} },
    ]);
    await ran(['quota', 'set', 'monthly', 'ann', '999', '--url', service.url]);
    for (let time = 0; time < 2; time += 1) {
      const { code, json } = await rebuild(service, file, '--json');
      expect({ code, json }).toMatchObject({
        code: 0,
        json: {
          lines: 9,
          counted: 4,
          outside: 3,
          other: 1,
          refused: 1,
          faulty: 0,
          set: 3,
          rules: [{ rule: 'monthly', quotas: 3, units: 328 }],
        },
      });
      expect((await quotaOf(service, 'ann')).used).toBe(320);
      expect((await quotaOf(service, 'bob', 'yearly')).used).toBe(7);
      expect((await quotaOf(service, '../😀')).used).toBe(1);
    }
  });

  it('only sums up with --dry-run, and tells it by rules', async () => {
    const service = await start({ rules });
    const { startsAt: time } = await quotaOf(service, 'x');
    const { code, out } = await rebuild(service, logFile([{ time, rule: 'monthly', key: 'ann', cost: 5 }]), '--dry-run');
    expect(code).toBe(0);
    expect(out).toMatch(/^monthly +1 +5$/m);
    expect(out).toContain('nothing was set: --dry-run');
    expect((await quotaOf(service, 'ann')).used).toBe(0);
  });

  it('shows how far it is on a terminal only, and leaves nothing of that behind', async () => {
    const service = await start({ rules });
    const { startsAt: time } = await quotaOf(service, 'x');
    const line = [
      process.execPath,
      bin,
      'quota',
      'rebuild',
      '--from-log',
      logFile([{ time, rule: 'monthly', key: 'ann' }]),
      '--url',
      service.url,
    ];
    const text = await new Promise<string>((resolve) => {
      execFile('script', ['-qec', line.join(' '), '/dev/null'], { encoding: 'utf8' }, (_, stdout) => resolve(stdout));
    });
    expect(text).toMatch(/^\r\u001b\[K1 lines, 1 keys.*\r\u001b\[K/s);
    expect(text).toContain('1 quotas set');
  });

  it('tells the first ten faulty lines by number, shows none of them, sets the others, and ends with 1', async () => {
    const service = await start({ rules });
    const { startsAt: time } = await quotaOf(service, 'x');
    const good = { time, rule: 'monthly', key: 'ann' };
    const bad = [
      ['hunter2', 'is not valid JSON'],
      ['"hunter2"', 'expected a JSON object'],
      [{ ...good, time: 'hunter2' }, 'time: expected when it was'],
      [{ ...good, time: '2026-05-14T10:00:00' }, 'time: expected when it was'],
      [{ ...good, time: 1_700_000_000 }, 'time: expected when it was'],
      [{ ...good, key: ['hunter2'] }, 'key: expected a key'],
      [{ ...good, key: '\ud800' }, 'key: is not well-formed'],
      [{ ...good, cost: -0.5 }, 'cost: expected whole units'],
      [{ time, key: 'hunter2' }, 'rule: is missing; --rule NAME'],
      [{ ...good, key: 'hunter2'.repeat(20_000) }, 'is longer than 65536 bytes'],
    ] as const;
    const file = logFile([good, '', ...bad.map(([line]) => line), 'hunter2', good]);
    const { code, out, err } = await rebuild(service, file);
    expect({ code, lines: err.trimEnd().split('\n') }).toEqual({
      code: 1,
      lines: [
        ...bad.map(([, told], index) => expect.stringContaining(`line ${index + 3}: ${told}`) as string),
        'and 1 more lines cannot be read',
      ],
    });
    expect(out + err).not.toContain('hunter2');
    expect((await quotaOf(service, 'ann')).used).toBe(2);
  });

  it('reads standard input and .gz, and lines without a rule with --rule', async () => {
    const service = await start({ rules });
    const { startsAt: time } = await quotaOf(service, 'x');
    const lines = [
      { time, key: 'ann', cost: 5 },
      { time, key: 'ann', rule: 'search' },
    ];
    expect(await rebuild(service, logFile(lines, 'access.ndjson.gz'), '--rule', 'monthly')).toMatchObject({ code: 0, err: '' });
    expect((await quotaOf(service, 'ann')).used).toBe(5);
    const piped = await ran(
      ['quota', 'rebuild', '--from-log', '-', '--rule', 'monthly', '--url', service.url],
      {},
      ndjson([lines[0] ?? '', lines[0] ?? '']),
    );
    expect(piped).toMatchObject({ code: 0, err: '' });
    expect((await quotaOf(service, 'ann')).used).toBe(10);
  });

  it('goes through the keys in parts, each key in one of them', async () => {
    const service = await start({ rules });
    const { startsAt: time } = await quotaOf(service, 'x');
    const keys = Array.from({ length: 40 }, (_, index) => `customer-${index}`);
    const file = logFile(keys.map((key) => ({ time, key, rule: 'monthly' })));
    const parts = [];
    for (const part of ['1/3', '2/3', '3/3']) parts.push((await rebuild(service, file, '--part', part, '--json')).json.set as number);
    expect(parts.reduce((sum, one) => sum + one, 0)).toBe(40);
    for (const key of keys) expect((await quotaOf(service, key)).used, key).toBe(1);
    for (const of of [2, 4, 7]) {
      const share = Array.from({ length: 7000 }, (_, index) => isInPart(`key${index}`, { number: 1, of })).filter(Boolean).length / 7000;
      expect(share * of, `1/${of}`).toBeGreaterThan(0.9);
      expect(share * of, `1/${of}`).toBeLessThan(1.1);
    }
    expect(await rebuild(service, file, '--part', '4/3')).toMatchObject({
      code: 78,
      err: expect.stringContaining('--part: expected') as string,
    });
  });

  it('sets nothing where it cannot read the log, or the store is away', async () => {
    const service = await start({ rules, redis: 'redis://127.0.0.1:1', deadline: '50ms' });
    expect(await rebuild(service, '/nowhere.ndjson')).toMatchObject({ code: 78, err: '/nowhere.ndjson: cannot be read (ENOENT)\n' });
    const broken = join(temporary(), 'broken.gz');
    writeFileSync(broken, 'no gzip');
    expect(await rebuild(service, broken)).toMatchObject({
      code: 78,
      err: expect.stringContaining('cannot be read (Z_DATA_ERROR)') as string,
    });
    const file = logFile([{ time: '2026-05-14T10:00:00Z', rule: 'monthly', key: 'ann' }]);
    expect(await rebuild(service, file)).toMatchObject({ code: 69, err: expect.stringContaining('cannot reach its Redis') as string });
  });
});

describe('an access log', () => {
  it('is read as a stream: of a million lines some thousand are in memory at once', async () => {
    const file = join(temporary(), 'large.ndjson');
    const stream = createWriteStream(file);
    const chunk = ndjson(
      Array.from({ length: 10_000 }, (_, index) => ({ time: 1_800_000_000_000 + index, rule: 'monthly', key: `key${index}` })),
    );
    for (let written = 0; written < 100; written += 1) if (!stream.write(chunk)) await once(stream, 'drain');
    stream.end();
    await once(stream, 'close');
    let [lines, most] = [0, 0];
    let last: LogLine | undefined;
    for await (const batch of readAccessLog(file)) {
      lines += batch.length;
      most = Math.max(most, batch.length);
      last = batch.at(-1) ?? last;
    }
    expect({ lines, last }).toMatchObject({
      lines: 1_000_000,
      last: { number: 1_000_000, taken: { key: 'key9999', cost: 1, allowed: true } },
    });
    expect(most).toBeLessThan(50_000);
  });
});
