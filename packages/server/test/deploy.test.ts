import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { startRedis } from '../../../test/support/redis.js';
import { readDatabaseUrl } from '../src/database/address.js';
import { openDatabase } from '../src/database/open.js';
import { authority, certificateFiles } from './support/certificates.js';
import { collector } from './support/collector.js';
import { missingPrometheus, promtool, startPrometheus } from './support/prometheus.js';
import { exposed, groupedBy, selectorsOf } from './support/promql.js';
import { ask, later, start, temporary, type Started } from './support/service.js';

const deploy = join(import.meta.dirname, '../../../deploy');
const alertsFile = join(deploy, 'prometheus/alerts.yaml');

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[] };
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
}
interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
}

const dashboard = JSON.parse(readFileSync(join(deploy, 'grafana/headgate.json'), 'utf8')) as Dashboard;
const alerts = (parse(readFileSync(alertsFile, 'utf8')) as { groups: { rules: Alert[] }[] }).groups.flatMap(({ rules }) => rules);

/** As Grafana would fill it in. */
const filledIn = (expression: string): string =>
  expression.replaceAll('$__rate_interval', '1m').replaceAll(/\$(job|instance|rule)\b/g, '.*');
const targets = dashboard.panels.flatMap(({ title, targets: all = [] }) => all.map((target) => ({ title, ...target })));
const expressions = [
  ...targets.map(({ title, expr }) => [`the panel "${title}"`, filledIn(expr)] as const),
  ...dashboard.annotations.list.map(({ expr }) => ['an annotation', filledIn(expr)] as const),
  ...alerts.map(({ alert, expr }) => [`the alert ${alert}`, expr] as const),
];

/** What Prometheus adds itself. */
const scraped = ['job', 'instance'];

const rules = `
version: 1
rules:
  - { name: one, match: { path: /api }, key: ["*"], limit: { fixedWindow: { limit: 1, window: 1h } } }
  - { name: watch, shadow: true, limit: { fixedWindow: { limit: 0, window: 1h } } }
`;

/** What has everything there is to have, and has been used: a service, and where another one, which speaks TLS, tells of itself. */
async function everything(): Promise<{ readonly service: Started; readonly opsUrl: string }> {
  const [a, b] = [await startRedis(), await startRedis()];
  later(a.kill);
  later(b.kill);
  const database = `sqlite:${join(temporary(), 'rules.db')}`;
  const { rules: repository, close } = openDatabase(readDatabaseUrl(database, ''));
  await repository.importAll({ base: 0, author: 'test', reason: '', file: parse(rules) });
  await close();
  const { url: otlp } = await collector();
  const flags = ['--database', database, '--otlp', otlp, '--otlp-interval', '1s', '--webhook', 'http://127.0.0.1:1/hook'];
  const env = { HEADGATE_WEBHOOK_SECRET: 'a secret of the receiver' };
  const service = await start({ redis: [`a=${a.url}`, `b=${b.url}`], flags, env, secret: 'shared by all servers' });
  await expect.poll(async () => (await service.get('/readyz')).status, { timeout: 10_000 }).toBe(200);
  for (const rule of ['one', 'one', 'one', 'watch']) await service.post('/v1/check', { rule, key: 'k' });
  await service.get('/v1/gate/api');
  const { flags: tls } = certificateFiles(authority('Servers').issue('one'));
  const { app } = await start({ rules, flags: [...tls, '--ops-port', '0'] });
  return { service, opsUrl: app.opsUrl ?? '' };
}

describe('the dashboard', () => {
  it('has panels of its own ids, which say what they show, by the data source that is chosen', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(dashboard.templating.list.find(({ name }) => name === 'datasource')).toMatchObject({ type: 'datasource' });
    for (const { type, title, datasource, targets: asked } of dashboard.panels) {
      if (type === 'row') continue;
      expect({ title, uid: datasource?.uid }).toEqual({ title, uid: '${datasource}' });
      expect(asked?.length, title).toBeGreaterThan(0);
    }
  });

  it('names in its legends only what its expressions keep', () => {
    for (const { title, expr, legendFormat } of targets) {
      const kept = expr.includes(' by (') ? groupedBy(expr) : [...scraped, 'signal', 'shard'];
      for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        expect({ title, kept }).toEqual({ title, kept: expect.arrayContaining([label]) });
    }
  });
});

describe('alerts', () => {
  it('each have a severity, a summary, and a place in the runbook', () => {
    const runbook = readFileSync(join(import.meta.dirname, '../../../docs/runbook.md'), 'utf8');
    const sections = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, title]) => title);
    expect(sections).toEqual(alerts.map(({ alert }) => alert));
    for (const { alert, labels, annotations } of alerts) {
      expect(['critical', 'warning']).toContain(labels['severity']);
      expect(annotations['summary']).toMatch(/\S/);
      expect(annotations['runbook_url']).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
    }
  });
});

describe('the metrics that dashboard and alerts use', () => {
  it('exist, with the labels by which they are chosen and grouped', async () => {
    const { service, opsUrl } = await everything();
    const texts = [(await service.get('/metrics')).text, (await ask(`${opsUrl}/metrics`)).text];
    const there = new Map(texts.flatMap((text) => [...exposed(text)]));
    for (const [where, expression] of expressions) {
      const selectors = selectorsOf(expression);
      expect(selectors.length, where).toBeGreaterThan(0);
      const known = new Set([...scraped, 'le']);
      for (const { metric, labels } of selectors) {
        if (metric === 'up') continue;
        expect({ where, metric, isThere: there.has(metric) }).toEqual({ where, metric, isThere: true });
        const own = [...(there.get(metric) ?? []), ...scraped];
        for (const label of labels) expect({ where, metric, own }).toEqual({ where, metric, own: expect.arrayContaining([label]) });
        for (const label of own) known.add(label);
      }
      for (const label of groupedBy(expression))
        expect({ where, known: [...known] }).toEqual({ where, known: expect.arrayContaining([label]) });
    }
  });
});

describe('Prometheus', () => {
  const missing = missingPrometheus();
  const needed = ({ skip }: { skip: (why?: string) => never }): void => {
    if (missing !== undefined) skip(missing);
  };

  it('finds the alerts sound, and fires each when it should and not when it should not', (context) => {
    needed(context);
    const checked = promtool('check', 'rules', alertsFile);
    expect(checked.text).toContain(`SUCCESS: ${alerts.length} rules found`);
    const tried = promtool('test', 'rules', join(deploy, 'prometheus/alerts.test.yaml'));
    expect(tried).toEqual({ ok: true, text: expect.stringContaining('SUCCESS') });
    const trial = parse(readFileSync(join(deploy, 'prometheus/alerts.test.yaml'), 'utf8')) as { tests: { name: string }[] };
    expect(trial.tests.map(({ name }) => name)).toEqual(alerts.map(({ alert }) => alert));
  });

  it('finds every expression of the dashboard sound', (context) => {
    needed(context);
    const recorded = expressions.map(([, expr], index) => ({ record: `panel:${index}`, expr }));
    const file = join(temporary(), 'panels.yaml');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules: recorded }] }));
    expect(promtool('check', 'rules', file).text).toContain(`SUCCESS: ${expressions.length} rules found`);
  });

  it('reads a service, and answers what the dashboard asks of it', async (context) => {
    needed(context);
    const { service, opsUrl } = await everything();
    const { url, post } = service;
    const { query, alerts: known } = await startPrometheus([url, opsUrl], [alertsFile]);
    expect(await known()).toEqual(alerts.map(({ alert }) => alert));
    const count = async (expression: string): Promise<number> => (await query(expression)).length;
    await expect.poll(() => count('count_over_time(up{job="headgate"}[1m]) > 4'), { timeout: 30_000 }).toBe(2);
    for (let i = 0; i < 10; i += 1) await post('/v1/check', { rule: 'one', key: `other-${i}` });
    await expect.poll(() => count('rate(headgate_decisions_total[1m]) > 0'), { timeout: 15_000 }).toBeGreaterThan(0);
    const silent: string[] = [];
    for (const { title, expr } of targets) {
      if ((await query(filledIn(expr))).length === 0) silent.push(title);
    }
    expect(silent).toEqual([]);
  });
});
