import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { RuleSet } from '../src/rules/compile.js';
import type { RulesError } from '../src/rules/faults.js';
import { openRulesFile } from '../src/rules/file-source.js';
import { later, rulesFile, start, temporary } from './support/service.js';

const withLimit = (limit: number, name = 'a'): string =>
  `version: 1\nrules:\n  - { name: ${name}, limit: { fixedWindow: { limit: ${limit}, window: 1h } } }\n`;

async function watched(file: string): Promise<{ sets: RuleSet[]; faults: RulesError[] }> {
  const source = await openRulesFile(file);
  const seen = { sets: [] as RuleSet[], faults: [] as RulesError[] };
  later(source.watch({ onRules: (rules) => seen.sets.push(rules), onFault: (error) => seen.faults.push(error) }));
  return seen;
}

const limitIn = (set: RuleSet | undefined): unknown => (set?.rules.get('a')?.options.limit as { limit?: number } | undefined)?.limit;
const withinASecond = { timeout: 1000, interval: 10 };
/** Where the file itself is not what is tested: tests run beside each other, on two cores. */
const soon = { timeout: 3000, interval: 10 };

describe('a rules file that is watched', () => {
  it('is read again when it is written in place', async () => {
    const file = rulesFile(withLimit(1));
    const { sets, faults } = await watched(file);
    for (const limit of [2, 3]) {
      writeFileSync(file, withLimit(limit));
      await expect.poll(() => limitIn(sets.at(-1)), withinASecond).toBe(limit);
    }
    expect(faults).toEqual([]);
  });

  it('is read again when an editor replaces it, also a second time', async () => {
    const file = rulesFile(withLimit(1));
    const { sets } = await watched(file);
    for (const limit of [2, 3]) {
      writeFileSync(`${file}~`, withLimit(limit));
      renameSync(`${file}~`, file);
      await expect.poll(() => limitIn(sets.at(-1)), withinASecond).toBe(limit);
    }
  });

  it('is read again when Kubernetes swaps the ..data symlink (case 39)', async () => {
    const folder = temporary();
    const revision = (name: string, limit: number): void => {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'rules.yaml'), withLimit(limit));
      symlinkSync(name, join(folder, '..data_tmp'));
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    revision('..2026_1', 1);
    symlinkSync('..data/rules.yaml', join(folder, 'rules.yaml'));
    const { sets } = await watched(join(folder, 'rules.yaml'));
    revision('..2026_2', 2);
    await expect.poll(() => limitIn(sets.at(-1)), withinASecond).toBe(2);
    rmSync(join(folder, '..2026_1'), { recursive: true });
    revision('..2026_3', 3);
    await expect.poll(() => limitIn(sets.at(-1)), withinASecond).toBe(3);
  });

  it('is read again when a link outside its folder is all that changes', async () => {
    const [folder, elsewhere] = [temporary(), temporary()];
    writeFileSync(join(elsewhere, 'real.yaml'), withLimit(1));
    symlinkSync(join(elsewhere, 'real.yaml'), join(folder, 'rules.yaml'));
    const { sets } = await watched(join(folder, 'rules.yaml'));
    writeFileSync(join(elsewhere, 'real.yaml'), withLimit(2));
    await expect.poll(() => limitIn(sets.at(-1)), withinASecond).toBe(2);
  });

  it('is not taken anew while its content is the same', async () => {
    const file = rulesFile(withLimit(1));
    const { sets, faults } = await watched(file);
    writeFileSync(file, withLimit(1));
    await sleep(1000);
    expect([sets, faults]).toEqual([[], []]);
  });

  it('is not taken half written', async () => {
    const file = rulesFile(withLimit(1));
    const { sets, faults } = await watched(file);
    const text = withLimit(2);
    writeFileSync(file, '');
    await sleep(5);
    writeFileSync(file, text.slice(0, 30));
    await sleep(5);
    writeFileSync(file, text);
    await expect.poll(() => limitIn(sets.at(-1)), withinASecond).toBe(2);
    expect(faults).toEqual([]);
  });

  it('tells faults once for each content, and takes the file again when it is mended', async () => {
    const file = rulesFile(withLimit(1));
    const { sets, faults } = await watched(file);
    writeFileSync(file, 'version: 1\nrules: [{ name: a }, { nam: b }]\n');
    await expect.poll(() => faults.length, soon).toBe(1);
    await sleep(900);
    expect(faults).toHaveLength(1);
    expect(faults[0]?.faults.length).toBeGreaterThan(2);
    rmSync(file);
    await expect.poll(() => faults.length, soon).toBe(2);
    writeFileSync(file, '');
    await expect.poll(() => faults.length, soon).toBe(3);
    expect(sets).toEqual([]);
    writeFileSync(file, withLimit(2));
    await expect.poll(() => limitIn(sets.at(-1)), soon).toBe(2);
  });

  it('is left alone after the end', async () => {
    const file = rulesFile(withLimit(1));
    const source = await openRulesFile(file);
    const sets: RuleSet[] = [];
    source.watch({ onRules: (rules) => sets.push(rules), onFault: () => undefined })();
    writeFileSync(file, withLimit(2));
    await sleep(600);
    expect(sets).toEqual([]);
  });
});

describe('a service whose rules change', () => {
  it('uses the new ones without a restart, and keeps what is counted (case 17)', async () => {
    const file = rulesFile(withLimit(2));
    const { post, get } = await start({ file });
    const check = async () => (await post('/v1/check', { rule: 'a', key: 'k' })).json.decision;
    await check();
    writeFileSync(file, withLimit(3));
    await expect.poll(async () => (await post('/v1/peek', { rule: 'a', key: 'k' })).json.decision.limit, soon).toBe(3);
    expect(await check()).toMatchObject({ allowed: true, remaining: 1 });
    writeFileSync(file, withLimit(3, 'b'));
    await expect.poll(async () => (await post('/v1/check', { rule: 'a', key: 'k' })).status, soon).toBe(404);
    expect((await get('/metrics')).text).toContain('headgate_rules_reload_total{result="ok"} 3');
  });

  it('keeps the old ones when the file is broken, emptied or deleted, and counts it (case 37)', async () => {
    const file = rulesFile(withLimit(2));
    const { post, get } = await start({ file });
    const refused = async () => /headgate_rules_reload_total\{result="refused"\} (\d+)/.exec((await get('/metrics')).text)?.[1];
    for (const [count, breakIt] of [
      () => writeFileSync(file, 'version: 3\n'),
      () => writeFileSync(file, ''),
      () => rmSync(file),
    ].entries()) {
      breakIt();
      await expect.poll(refused, soon).toBe(String(count + 1));
      expect((await post('/v1/peek', { rule: 'a', key: 'k' })).json.decision.limit).toBe(2);
      expect((await get('/readyz')).status).toBe(200);
    }
  });
});
