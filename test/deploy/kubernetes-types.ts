import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [field: string]: any;
}

const root = join(import.meta.dirname, '../..');

/** Where the type of a kind is; `undefined` for one that is not known. */
const packages: Record<string, string> = { 'monitoring.coreos.com': '@kubernetes-models/prometheus-operator/monitoring.coreos.com' };

function moduleOf({ apiVersion, kind }: Manifest): string {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  return [packages[group] ?? ['kubernetes-models', ...(group === '' ? [] : [group])].join('/'), version, kind].join('/');
}

/**
 * What the types of the Kubernetes API say against manifests: fields that do not exist at any depth (an API server drops those silently), required ones
 * that are missing, wrong types and unknown words. A manifest becomes a TypeScript literal, as only literals may have no further fields.
 */
export function typeFaults(manifests: readonly Manifest[]): string {
  const base = join(import.meta.dirname, '.types');
  mkdirSync(base, { recursive: true });
  const folder = mkdtempSync(join(base, 'run-'));
  try {
    for (const [index, manifest] of manifests.entries()) {
      const type = `import('${moduleOf(manifest)}').I${manifest.kind}`;
      writeFileSync(join(folder, `${index}-${manifest.kind}.ts`), `export const it: ${type} = ${JSON.stringify(manifest, null, 1)};\n`);
    }
    const options = { strict: true, noEmit: true, skipLibCheck: true, module: 'esnext', moduleResolution: 'bundler', types: [] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] }));
    execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', folder], { cwd: root, encoding: 'utf8', stdio: 'pipe' });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout.replaceAll(/^.*?(\d+-\w+\.ts)/gm, '$1');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
