import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aptInstall, mayInstall } from '../../../../test/support/apt.js';
import { temporary } from './service.js';

/** A certificate and its key, PEM. */
export interface Issued {
  readonly cert: string;
  readonly key: string;
}

export interface Authority extends Issued {
  /** A certificate for this machine, or a client's. `days: 0`: it has expired when it is there. */
  issue(name: string, options?: { readonly days?: number }): Issued;
}

function openssl(...args: string[]): void {
  const run = () => execFileSync('openssl', args, { stdio: 'pipe' });
  try {
    run();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || !mayInstall()) throw error;
    aptInstall('openssl');
    run();
  }
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Runs openssl in a folder of its own; answers what it left there. */
function made(files: Readonly<Record<string, string>>, run: (file: (name: string) => string) => void): (name: string) => string {
  const folder = temporary();
  const file = (name: string): string => join(folder, name);
  for (const [name, text] of Object.entries(files)) writeFileSync(file(name), text);
  run(file);
  return (name) => readFileSync(file(name), 'utf8');
}

/** An authority of its own. */
export function authority(name = 'Test Authority'): Authority {
  const own = made({}, (file) =>
    openssl('req', '-x509', ...newKey, '-keyout', file('ca.key'), '-out', file('ca.pem'), '-days', '30', '-subj', `/CN=${name}`),
  );
  const [cert, key] = [own('ca.pem'), own('ca.key')];
  let serial = 1;
  return {
    cert,
    key,
    issue(called, { days = 20 } = {}) {
      const read = made({ 'ca.pem': cert, 'ca.key': key }, (file) => {
        const names = ['-addext', 'subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost'];
        openssl('req', '-new', ...newKey, ...names, '-keyout', file('leaf.key'), '-out', file('leaf.csr'), '-subj', `/CN=${called}`);
        const by = ['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-set_serial', String((serial += 1)), '-copy_extensions', 'copy'];
        openssl('x509', '-req', '-in', file('leaf.csr'), ...by, '-days', String(days), '-out', file('leaf.pem'));
      });
      return { cert: read('leaf.pem'), key: read('leaf.key') };
    },
  };
}

/** The same key, protected by a passphrase. */
export function withPassphrase({ key }: Issued): string {
  const read = made({ 'plain.key': key }, (file) =>
    openssl('pkey', '-in', file('plain.key'), '-aes256', '-passout', 'pass:hunter2', '-out', file('secret.key')),
  );
  return read('secret.key');
}

export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
  readonly flags: readonly string[];
  /** Writes each in one step. */
  write(issued: Partial<Issued>): void;
}

/** Files of a certificate, as `--tls-cert` and `--tls-key` name them. */
export function certificateFiles(issued: Issued): CertificateFiles {
  const folder = temporary();
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  function write(texts: Partial<Issued>): void {
    for (const [file, text] of [
      [cert, texts.cert],
      [key, texts.key],
    ] as const) {
      if (text === undefined) continue;
      writeFileSync(`${file}~`, text);
      renameSync(`${file}~`, file);
    }
  }
  write(issued);
  return { cert, key, flags: ['--tls-cert', cert, '--tls-key', key], write };
}
