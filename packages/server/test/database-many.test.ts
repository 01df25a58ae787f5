import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { describeBoth } from './support/databases.js';

/** `bench/rule-changes.mjs` makes 100,000, with times. */
const changes = 2000;
const names = Array.from({ length: 20 }, (_, index) => `rule ${index}`);
const perHour = (limit: number) => ({ limit: { fixedWindow: { limit, window: '1h' } } });

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
function heap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

describeBoth('thousands of changes of rules', (kind) => {
  it('are a row each, and cost neither memory nor connections', async () => {
    const test = await kind.fresh();
    const { rules } = test.open();
    let base = 0;
    const edit = (put: Record<string, unknown>) => rules.change({ base, author: 'ann', reason: '', put });
    ({ version: base } = await edit(Object.fromEntries(names.map((name) => [name, perHour(0)]))));
    let before = 0;
    for (let index = 1; index <= changes; index += 1) {
      ({ version: base } = await edit({ [names[index % names.length] ?? '']: perHour(index) }));
      if (index === changes / 4) before = heap();
    }
    expect(heap() - before).toBeLessThan(4_000_000);
    const rowsOf = async (table: string) => Number((await test.byHand(`select count(*) as n from ${test.table(table)}`))[0]?.['n']);
    expect([await rowsOf('versions'), await rowsOf('audit'), await rowsOf('entries')]).toEqual([
      changes + 1,
      changes + 1,
      changes + names.length,
    ]);
    if (kind.name === 'postgres') {
      const server = await kind.server();
      expect(await server.connections(new URL(test.url).pathname.slice(1))).toBeLessThanOrEqual(2);
    }
    // Any version is as it was: of the last 20 changes before it each rule has one.
    for (const version of [21, changes / 2, changes + 1]) {
      const { rules: at } = await rules.at(version);
      const limits = [...at.values()].map((body) => (body as ReturnType<typeof perHour>).limit.fixedWindow.limit);
      expect(limits.sort((a, b) => a - b)).toEqual(names.map((_, index) => version - names.length + index));
    }
    expect((await rules.diff(base - 1, base)).map(({ name }) => name)).toEqual([names[changes % names.length]]);
  });
});
