import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readServeSettings } from '../../packages/server/src/config.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import type { Manifest } from './kubernetes-types.js';
import { ended, holding, read, root, secretFiles, started } from './service.js';

const manifest = (name: string): Manifest => parse(read(`deploy/kubernetes/${name}.yaml`)) as Manifest;

describe('the Kubernetes manifests', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  const pod = manifest('deployment').spec.template.spec;
  const [container] = pod.containers;
  const variables = (): [string, string][] => container.env.map(({ name, value }: { name: string; value: string }) => [name, value]);

  it('start a service that answers each probe, by the mounts and variables that they give it', async () => {
    const mounted = {
      '/run/secrets/headgate': holding('run-secrets', secretFiles(redis.url)),
      '/etc/headgate/rules': holding('rules', manifest('rules').data),
    };
    const local = (value: string): string => Object.entries(mounted).reduce((text, [from, to]) => text.replace(from, to), value);
    const env = Object.fromEntries(variables().map(([name, value]) => [name, local(value)]));
    const service = await started(join(root, 'packages/server/bin/headgate.js'), container.args, env);
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      expect(container[probe].httpGet.port).toBe('ops');
      expect((await fetch(service.opsUrl + String(container[probe].httpGet.path))).status, probe).toBe(200);
    }
    const check = await fetch(`${service.url}/v1/check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ rule: 'search', key: 'key42' }),
    });
    expect(await check.json()).toMatchObject({ allowed: true, decision: { source: 'store', remaining: 19 } });
    expect(await ended(service)).toBe(0);
  });

  it('give variables of settings that exist', () => {
    const names = new Set(readServeSettings([], {}).origins.map(({ name }) => `HEADGATE_${name.toUpperCase().replaceAll('-', '_')}`));
    for (const [name] of variables()) expect(names, name).toContain(name.replace(/_FILE$/, ''));
  });

  it('run it as nobody, over a root that is only read, with no secret in a variable', () => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(variables().filter(([name]) => /SECRET$|REDIS$|DATABASE$/.test(name))).toEqual([]);
  });

  it('have the server wait for load balancers when it is to stop, and have time left after it', () => {
    const settings = readServeSettings([], Object.fromEntries(variables().filter(([name]) => !name.endsWith('_FILE')))).values;
    expect(container.lifecycle).toBeUndefined();
    expect(settings.drain).toBeGreaterThanOrEqual(5000);
    // What is given back may take as long again as requests in flight.
    expect(settings.drain + 2 * settings.stopWithin).toBeLessThan(pod.terminationGracePeriodSeconds * 1000);
  });

  it('mean one another', () => {
    const { labels } = manifest('deployment').spec.template.metadata;
    const selectors = [
      manifest('deployment').spec.selector.matchLabels,
      manifest('service').spec.selector,
      manifest('poddisruptionbudget').spec.selector.matchLabels,
      manifest('networkpolicy').spec.podSelector.matchLabels,
    ];
    for (const selector of selectors) expect(labels).toMatchObject(selector);
    expect(manifest('horizontalpodautoscaler').spec.scaleTargetRef.name).toBe(manifest('deployment').metadata.name);
    expect(pod.serviceAccountName).toBe(manifest('serviceaccount').metadata.name);
    expect(pod.volumes.find(({ name }: { name: string }) => name === 'rules').configMap.name).toBe(manifest('rules').metadata.name);
    expect(manifest('service').spec.ports[0].targetPort).toBe(container.ports[0].name);
  });
});
