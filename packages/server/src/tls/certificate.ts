import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { SettingError } from '../redis-address.js';
import { tlsFlags, type TlsFiles, type TlsTexts } from './files.js';

/** A certificate that a server can use. */
export interface Certificate {
  /** As Node takes it. Clients with an older TLS than 1.2 are refused. */
  readonly context: SecureContextOptions;
  /** When the first of the chain expires, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** What is odd, and does not hinder. */
  readonly warnings: readonly string[];
}

const pem = /-----BEGIN CERTIFICATE-----[^]+?-----END CERTIFICATE-----/g;

/** @throws SettingError */
function certificatesIn(text: string, where: string): X509Certificate[] {
  try {
    const found = (text.match(pem) ?? []).map((one) => new X509Certificate(one));
    if (found.length > 0) return found;
  } catch {
    throw new SettingError(`${where}: a certificate in it is damaged; write the file anew, as PEM`);
  }
  throw new SettingError(`${where}: no certificate is in it; expected PEM, which begins with -----BEGIN CERTIFICATE-----`);
}

/** @throws SettingError, without any part of the key */
function keyIn(text: string, where: string): KeyObject {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text)) {
    const mend = 'openssl pkey -in FILE -out PLAIN takes it out; let the rights of the file protect it instead';
    throw new SettingError(`${where}: the key has a passphrase, which is not supported, as the passphrase would lie beside it: ${mend}`);
  }
  try {
    return createPrivateKey(text);
  } catch {
    throw new SettingError(`${where}: no private key is in it that can be read; expected PEM, such as -----BEGIN PRIVATE KEY-----`);
  }
}

const pair = ({ cert, key }: TlsFiles): string => `${tlsFlags.cert} ${cert} and ${tlsFlags.key} ${key}`;

function assertPair([first, ...rest]: readonly X509Certificate[], key: KeyObject, files: TlsFiles): void {
  if (first?.checkPrivateKey(key)) return;
  if (rest.some((one) => one.checkPrivateKey(key)))
    throw new SettingError(
      `${tlsFlags.cert} ${files.cert}: the key's own certificate is not the first; put it before those that lead to its root`,
    );
  throw new SettingError(`${pair(files)}: the key is of another certificate; give the two that were made together`);
}

const untilOf = ({ validTo }: X509Certificate): number => Date.parse(validTo);

function warningsOf({ certificates, clientCas, files, now }: Judged): string[] {
  const warnings = [];
  const early = certificates.find(({ validFrom }) => Date.parse(validFrom) > now);
  const late = certificates.find((one) => untilOf(one) <= now);
  const lateCa = clientCas.find((one) => untilOf(one) <= now);
  if (early !== undefined)
    warnings.push(`${tlsFlags.cert} ${files.cert}: is not valid before ${early.validFrom}; clients will refuse it until then`);
  if (late !== undefined) warnings.push(`${tlsFlags.cert} ${files.cert}: has expired on ${late.validTo}; clients will refuse it`);
  if (lateCa !== undefined) warnings.push(`${tlsFlags.clientCa} ${files.clientCa}: a certificate in it has expired on ${lateCa.validTo}`);
  return warnings;
}

interface Judged {
  readonly certificates: readonly X509Certificate[];
  readonly clientCas: readonly X509Certificate[];
  readonly files: TlsFiles;
  /** Milliseconds since 1970. */
  readonly now: number;
}

interface Making {
  readonly files: TlsFiles;
  readonly texts: TlsTexts;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** @throws SettingError with the file and the mend */
export function certificateOf({ files, texts, now }: Making): Certificate {
  if ('problem' in texts) throw new SettingError(texts.problem);
  const { cert = '', key = '', clientCa } = texts;
  const certificates = certificatesIn(cert, `${tlsFlags.cert} ${files.cert}`);
  const clientCas = clientCa === undefined ? [] : certificatesIn(clientCa, `${tlsFlags.clientCa} ${files.clientCa}`);
  assertPair(certificates, keyIn(key, `${tlsFlags.key} ${files.key}`), files);
  const context = { cert, key, ...(clientCa === undefined ? undefined : { ca: clientCa }), minVersion: 'TLSv1.2' } as const;
  try {
    createSecureContext(context);
  } catch (error) {
    throw new SettingError(`${pair(files)}: cannot be used (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
  return {
    context,
    expiresAt: Math.min(...certificates.map(untilOf)),
    warnings: warningsOf({ certificates, clientCas, files, now }),
  };
}
