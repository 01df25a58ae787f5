import { readFile } from 'node:fs/promises';

/** Where a server's certificate is. */
export interface TlsFiles {
  /** PEM: the server's certificate, then those that lead from it to its root. */
  readonly cert: string;
  /** PEM, without a passphrase. */
  readonly key: string;
  /** PEM: only clients with a certificate of one of these are served. Undefined: no client is asked for one. */
  readonly clientCa: string | undefined;
}

/** What the files hold, or why one of them cannot be read. */
export type TlsTexts = Record<keyof TlsFiles, string | undefined> | { readonly problem: string };

const hints: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a folder',
};

/** The flag of each file. */
export const tlsFlags: Record<keyof TlsFiles, string> = { cert: '--tls-cert', key: '--tls-key', clientCa: '--tls-client-ca' };

async function textOf(which: keyof TlsFiles, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new Error(`${tlsFlags[which]} ${file}: cannot be read (${code}${code in hints ? `: ${hints[code]}` : ''})`, { cause: error });
  }
}

export async function readTlsFiles({ cert, key, clientCa }: TlsFiles): Promise<TlsTexts> {
  try {
    return { cert: await textOf('cert', cert), key: await textOf('key', key), clientCa: await textOf('clientCa', clientCa) };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

export const isSameTls = (a: TlsTexts, b: TlsTexts): boolean =>
  'problem' in a || 'problem' in b
    ? 'problem' in a && 'problem' in b && a.problem === b.problem
    : a.cert === b.cert && a.key === b.key && a.clientCa === b.clientCa;
