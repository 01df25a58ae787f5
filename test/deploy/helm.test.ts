import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { typeFaults, type Manifest } from './kubernetes-types.js';
import { ensureHelm, helmNeeded } from './tools.js';

const deploy = join(import.meta.dirname, '../../deploy');
const chart = join(deploy, 'helm/headgate');
let helm: string;
let folder: string;

beforeAll(() => {
  if (!helmNeeded.skip) helm = ensureHelm();
  folder = mkdtempSync(join(tmpdir(), 'headgate-chart-'));
}, 900_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: readonly string[]): string => execFileSync(helm, args, { encoding: 'utf8', stdio: 'pipe', cwd: folder });

/** Where a release of these values is rendered to, by template. */
function rendered(values: object = {}): ReadonlyMap<string, string> {
  const file = join(folder, 'values.yaml');
  writeFileSync(file, JSON.stringify(values));
  // What `go install` makes does not know which Kubernetes it was made with.
  const out = run(['template', 'headgate', chart, '--values', file, '--kube-version', '1.30.0']);
  const texts = new Map<string, string>();
  for (const part of out.split(/^---\n/m).filter((text) => text.trim() !== '')) {
    const [, name = ''] = /^# Source: headgate\/templates\/(.*)\n/.exec(part) ?? [];
    texts.set(name, `${part.replace(/^# Source: .*\n/, '').trimEnd()}\n`);
  }
  return texts;
}

const manifestsOf = (texts: Iterable<string>): Manifest[] =>
  [...texts].flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Manifest));

function refusal(values: object): string {
  try {
    rendered(values);
    return 'accepted';
  } catch (error) {
    return (error as { stderr: string }).stderr;
  }
}

const withOperations = { settings: { 'ops-port': 8081 }, shutdown: { waitSeconds: 0 }, serviceMonitor: { enabled: true } };
const inDatabase = {
  rules: { content: '' },
  secret: { keys: ['secret', 'redis', 'database'] },
  settings: { cache: '/var/cache/headgate' },
};

describe.skipIf(helmNeeded.skip)(`the Helm chart${helmNeeded.title}`, () => {
  it('passes helm lint, warnings included', () => {
    expect(run(['lint', '--strict', chart])).toContain('1 chart(s) linted, 0 chart(s) failed');
  });

  it('renders with its usual values to what stands in deploy/kubernetes', async () => {
    const texts = rendered();
    for (const [name, text] of texts) await expect(text, name).toMatchFileSnapshot(join(deploy, 'kubernetes', name));
    expect(readdirSync(join(deploy, 'kubernetes')).sort()).toEqual([...texts.keys()].sort());
  });

  it('renders to what the types of the Kubernetes API allow, whatever is switched on', () => {
    const everything = {
      image: { digest: `sha256:${'0'.repeat(64)}` },
      imagePullSecrets: [{ name: 'registry' }],
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
      serviceAccount: { annotations: { owner: 'platform' } },
      service: { annotations: { owner: 'platform' } },
      podAnnotations: { owner: 'platform' },
      podLabels: { team: 'platform' },
      nodeSelector: { pool: 'edge' },
      tolerations: [{ key: 'edge', operator: 'Exists', effect: 'NoSchedule' }],
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [] }] } } },
      networkPolicy: {
        from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'gateways' } } }],
        egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }], ports: [6379] }],
      },
      podDisruptionBudget: { maxUnavailable: '25%' },
    };
    const off = { enabled: false };
    const least = { autoscaling: off, podDisruptionBudget: off, networkPolicy: off, topologyKeys: [], replicas: 1 };
    const all = [{}, everything, least, inDatabase, withOperations, { rules: { configMap: 'ours' } }].map(rendered);
    expect(typeFaults(all.flatMap((texts) => manifestsOf(texts.values())))).toBe('');
  });

  it('would be told of a field that does not exist, by those types', () => {
    const [deployment] = manifestsOf([rendered().get('deployment.yaml') ?? '']);
    const misspelt = JSON.parse(JSON.stringify(deployment).replace('readinessProbe', 'readynessProbe')) as Manifest;
    expect(typeFaults([misspelt])).toContain(`'"readynessProbe"' does not exist`);
  });

  it('writes whole numbers as they are said, also large ones', () => {
    expect(rendered({ settings: { notes: 1_000_000 } }).get('deployment.yaml')).toMatch(/HEADGATE_NOTES\n *value: "1000000"/);
  });

  it('asks for health and metrics at a port of their own, where the settings have one', () => {
    const [deployment, service, monitor] = ['deployment', 'service', 'servicemonitor'].map((name) =>
      parse(rendered(withOperations).get(`${name}.yaml`) ?? ''),
    ) as [Manifest, Manifest, Manifest];
    const [container] = deployment.spec.template.spec.containers;
    expect(container.ports).toContainEqual({ name: 'ops', containerPort: 8081 });
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) expect(container[probe].httpGet.port).toBe('ops');
    expect(service.spec.ports).toContainEqual({ name: 'ops', port: 8081, targetPort: 'ops' });
    expect(monitor.spec.endpoints[0].port).toBe('ops');
    expect(container.lifecycle).toBeUndefined();
  });

  it('mounts no rules where they are in a database, and a ConfigMap of yours where there is one', () => {
    const texts = rendered(inDatabase);
    expect(texts.has('rules.yaml')).toBe(false);
    expect(texts.get('deployment.yaml')).not.toContain('HEADGATE_RULES');
    expect(rendered({ rules: { configMap: 'ours' } }).get('deployment.yaml')).toMatch(/configMap:\n *name: ours/);
  });

  it.each([
    ['secret-among-the-settings', { settings: { secret: 'x'.repeat(32) } }],
    ['privileged-port', { settings: { 'http-port': 80 } }],
    ['setting-written-as-a-variable', { settings: { HEADGATE_HOST: '0.0.0.0' } }],
    ['fraction', { settings: { 'fleet-size': 1.5 } }],
    ['unknown-value', { replica: 3 }],
    ['no-shared-secret', { secret: { keys: ['redis'] } }],
    ['digest-without-algorithm', { image: { digest: '0'.repeat(64) } }],
    ['open-to-everybody-by-mistake', { networkPolicy: { from: [] } }],
    ['readiness-by-another-path', { probes: { readinessPath: '/' } }],
  ])('refuses values with a fault by its schema: %s', (_fault, values) => {
    expect(refusal(values)).toMatch(/values don't meet the specifications of the schema/);
  });

  it('packs under the version of the packages', () => {
    const { version } = JSON.parse(readFileSync(join(deploy, '../packages/server/package.json'), 'utf8')) as { version: string };
    expect(parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'))).toMatchObject({ version, appVersion: version });
    expect(basename(run(['package', chart]).trim())).toBe(`headgate-${version}.tgz`);
  });
});
