import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { certificateOf, type Certificate } from '../src/tls/certificate.js';
import { readTlsFiles, type TlsFiles } from '../src/tls/files.js';
import { openCertificate } from '../src/tls/source.js';
import { authority, certificateFiles, withPassphrase, type Authority, type Issued } from './support/certificates.js';
import { later, temporary } from './support/service.js';

let root: Authority;
let [one, two] = [] as unknown as [Issued, Issued];
beforeAll(() => {
  root = authority();
  one = root.issue('one');
  two = root.issue('two');
});

const subjectOf = (certificate: Certificate | undefined): string | undefined =>
  certificate && new X509Certificate(String(certificate.context.cert)).subject;

async function fault(texts: Partial<Issued> & { clientCa?: string }): Promise<string> {
  const folder = temporary();
  const put = (name: string, text: string | undefined): string => {
    const file = join(folder, name);
    if (text !== undefined) writeFileSync(file, text);
    return file;
  };
  const files: TlsFiles = {
    cert: put('c', texts.cert),
    key: put('k', texts.key),
    clientCa: texts.clientCa === undefined ? undefined : put('ca', texts.clientCa),
  };
  try {
    certificateOf({ files, texts: await readTlsFiles(files), now: Date.now() });
    return '';
  } catch (error) {
    expect((error as Error).name).toBe('SettingError');
    return (error as Error).message.replaceAll(`${folder}/`, '');
  }
}

describe('a certificate that cannot be used', () => {
  it('is one clear error with the file and the mend, and shows no part of the key', async () => {
    expect(await fault(one)).toBe('');
    expect(await fault({ key: one.key })).toBe('--tls-cert c: cannot be read (ENOENT: there is no such file)');
    expect(await fault({ cert: one.cert })).toBe('--tls-key k: cannot be read (ENOENT: there is no such file)');
    expect(await fault({ ...one, key: two.key })).toBe(
      '--tls-cert c and --tls-key k: the key is of another certificate; give the two that were made together',
    );
    expect(await fault({ ...one, cert: root.cert + one.cert })).toMatch(/certificate is not the first; put it before/);
    expect(await fault({ ...one, cert: one.key })).toMatch(/^--tls-cert c: no certificate is in it; expected PEM/);
    expect(await fault({ ...one, cert: one.cert.replace(/^M/m, 'AAAA') })).toMatch(/^--tls-cert c: a certificate in it is damaged/);
    expect(await fault({ ...one, key: one.cert })).toMatch(/^--tls-key k: no private key is in it/);
    expect(await fault({ ...one, key: withPassphrase(one) })).toMatch(/^--tls-key k: the key has a passphrase, which is not supported/);
    expect(await fault({ ...one, clientCa: 'none' })).toMatch(/^--tls-client-ca ca: no certificate is in it/);
  });

  it('but for one that has expired, as clients may still take it: that is a warning', () => {
    const old = root.issue('old', { days: 0 });
    const files: TlsFiles = { cert: 'c', key: 'k', clientCa: undefined };
    const made = certificateOf({ files, texts: { ...old, clientCa: undefined }, now: Date.now() + 2000 });
    expect(made.warnings).toEqual([expect.stringMatching(/^--tls-cert c: has expired on .*; clients will refuse it$/)]);
  });
});

describe('certificate files that are watched', () => {
  const withinASecond = { timeout: 1000, interval: 10 };

  async function watched(files: TlsFiles) {
    const source = await openCertificate(files);
    const seen = { certificates: [] as Certificate[], faults: [] as string[] };
    later(
      source.watch({
        onCertificate: (certificate) => seen.certificates.push(certificate),
        onFault: ({ message }) => seen.faults.push(message),
      }),
    );
    return seen;
  }

  it('are read again when Kubernetes swaps the ..data symlink (case 39)', async () => {
    const folder = temporary();
    const revision = (name: string, { cert, key }: Issued): void => {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'tls.crt'), cert);
      writeFileSync(join(folder, name, 'tls.key'), key);
      symlinkSync(name, join(folder, '..data_tmp'));
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    revision('..2026_1', one);
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(`..data/${name}`, join(folder, name));
    const { certificates, faults } = await watched({ cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key'), clientCa: undefined });
    revision('..2026_2', two);
    await expect.poll(() => subjectOf(certificates.at(-1)), withinASecond).toBe('CN=two');
    revision('..2026_3', one);
    await expect.poll(() => subjectOf(certificates.at(-1)), withinASecond).toBe('CN=one');
    expect(faults).toEqual([]);
  });

  it('with a new certificate beside the old key are a fault that is told once, until the key is there', async () => {
    const files = certificateFiles(one);
    const { certificates, faults } = await watched({ cert: files.cert, key: files.key, clientCa: undefined });
    files.write({ cert: two.cert });
    await expect.poll(() => faults, withinASecond).toEqual([expect.stringContaining('the key is of another certificate')]);
    // Time for two looks more, which are by the clock of the machine.
    await new Promise((resolve) => setTimeout(resolve, 900));
    expect([faults.length, certificates]).toEqual([1, []]);
    files.write({ key: two.key });
    await expect.poll(() => subjectOf(certificates.at(-1)), withinASecond).toBe('CN=two');
  });

  it('that are replaced one right after the other are one change without a fault', async () => {
    const files = certificateFiles(one);
    const { certificates, faults } = await watched({ cert: files.cert, key: files.key, clientCa: undefined });
    files.write(two);
    await expect.poll(() => subjectOf(certificates.at(-1)), withinASecond).toBe('CN=two');
    expect([certificates.length, faults]).toEqual([1, []]);
  });
});
