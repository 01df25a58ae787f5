import { createHash, randomBytes } from 'node:crypto';
import { open, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';

const format = 1;

/** What a copy is of; it is not taken for another. */
export interface CopyOf {
  readonly file: string;
  /** `rules`, `exceptions`. */
  readonly kind: string;
  /** The database's address without its secrets. */
  readonly source: string;
}

interface Header {
  readonly headgate: number;
  readonly kind: string;
  readonly source: string;
  readonly version: string | number;
  readonly sha256: string;
}

/** A text with the version that it is. */
export interface Versioned {
  readonly version: string | number;
  readonly text: string;
}

/** A copy of what a database held, to start from while that is away. */
export interface DiskCopy {
  readonly file: string;
  /** The copy and when it was written, in milliseconds since 1970; or why there is none that can be used. */
  load(): Promise<(Versioned & { readonly written: number }) | { readonly problem: string }>;
  /**
   * Replaces it as a whole: a power cut leaves the old one or the new one. What is asked while it writes is written next, only the last of it.
   *
   * @throws Error that tells the file and the mend
   */
  save(copy: Versioned): Promise<void>;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

async function synced(handle: FileHandle): Promise<void> {
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function replace(file: string, content: string): Promise<void> {
  const temporary = `${file}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  try {
    // Only for this user: customers' keys are in it.
    const handle = await open(temporary, 'w', 0o600);
    try {
      await handle.writeFile(content);
    } finally {
      await synced(handle);
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  // The new name itself; some file systems cannot, and then it is as good as they are.
  await open(dirname(file), 'r')
    .then(synced)
    .catch(() => undefined);
}

function checked(content: string, { file, kind, source }: CopyOf): Versioned | { readonly problem: string } {
  const border = content.indexOf('\n');
  const text = content.slice(border + 1);
  let header: Partial<Header>;
  try {
    header = JSON.parse(content.slice(0, Math.max(0, border))) as Header;
  } catch {
    return { problem: `the copy ${file} is none of ours, or cut` };
  }
  if (header.headgate !== format || header.kind !== kind) return { problem: `the copy ${file} is not of this kind and format` };
  if (header.source !== source) return { problem: `the copy ${file} is of another database (${String(header.source)})` };
  if (header.sha256 !== sha256(text) || header.version === undefined) return { problem: `the copy ${file} is damaged (checksum)` };
  return { version: header.version, text };
}

/** The copy in a file; its folder must be there. */
export function diskCopy(of: CopyOf): DiskCopy {
  const { file, kind, source } = of;
  let next: Versioned | undefined;
  let saving: Promise<void> | undefined;

  async function saveAll(): Promise<void> {
    for (let copy = next; copy !== undefined; copy = next) {
      next = undefined;
      const header: Header = { headgate: format, kind, source, version: copy.version, sha256: sha256(copy.text) };
      await replace(file, `${JSON.stringify(header)}\n${copy.text}`);
    }
  }

  return {
    file,
    async load() {
      try {
        const found = checked(await readFile(file, 'utf8'), of);
        return 'problem' in found ? found : { ...found, written: Math.floor((await stat(file)).mtimeMs) };
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
        return { problem: code === 'ENOENT' ? `there is no copy ${file} yet` : `the copy ${file} cannot be read (${code})` };
      }
    },
    async save(copy) {
      next = copy;
      saving ??= saveAll().finally(() => (saving = undefined));
      try {
        await saving;
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
        throw new Error(
          `the copy ${file} cannot be written (${code}); is its folder there and writable? A restart without the database needs it`,
          {
            cause: error,
          },
        );
      }
    },
  };
}
