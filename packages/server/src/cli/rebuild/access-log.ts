import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';
import { cannotRead, standardInput } from '../read-text.js';

/** What a line of an access log says: units that a request took. */
export interface Taken {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly rule: string | undefined;
  readonly key: string;
  readonly cost: number;
  readonly plan: string | undefined;
  readonly allowed: boolean;
}

/** A line by its number, from 1; `fault` tells what is wrong without showing any of it. */
export type LogLine = { readonly number: number } & ({ readonly taken: Taken } | { readonly fault: string });

const whenShape = 'expected when it was: text such as "2026-05-14T10:00:00Z" or with an offset, or whole milliseconds since 1970';

const lineSchema = z.object({
  // Seconds and microseconds are out of this range: taken for milliseconds they would silently be out of any period.
  time: z
    .union([z.int().min(1e11, whenShape).max(1e14, whenShape), z.iso.datetime({ offset: true, error: whenShape })], { error: whenShape })
    .transform((time) => (typeof time === 'number' ? time : Date.parse(time))),
  rule: z.string({ error: 'expected the name of a rule' }).min(1, 'is empty').max(128, 'is longer than 128 characters').nullish(),
  key: z
    .string({ error: 'expected a key' })
    .min(1, 'is empty')
    .max(4096, 'is longer than 4096 characters')
    .refine((key) => key.isWellFormed(), 'is not well-formed text'),
  cost: z.int({ error: 'expected whole units' }).min(1, 'expected at least 1').max(9_000_000_000, 'expected at most 9000000000').nullish(),
  plan: z.string({ error: 'expected the name of a plan' }).max(128, 'is longer than 128 characters').nullish(),
  allowed: z.boolean({ error: 'expected true or false' }).nullish(),
});

function readFields(value: unknown): { readonly taken: Taken } | { readonly fault: string } {
  const parsed = lineSchema.safeParse(value);
  if (parsed.success) {
    const { time, rule, key, cost, plan, allowed } = parsed.data;
    return { taken: { time, key, rule: rule ?? undefined, cost: cost ?? 1, plan: plan ?? undefined, allowed: allowed ?? true } };
  }
  const [issue] = parsed.error.issues;
  const field = issue?.path[0];
  return { fault: field === undefined ? 'expected a JSON object' : `${String(field)}: ${issue?.message ?? ''}` };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads a line; undefined if it is blank. */
function readLine(bytes: Buffer | undefined): { readonly taken: Taken } | { readonly fault: string } | undefined {
  if (bytes === undefined) return { fault: `is longer than ${longestLine} bytes` };
  let text: string;
  try {
    text = utf8.decode(bytes).trim();
  } catch {
    return { fault: 'is not valid UTF-8' };
  }
  if (text === '') return undefined;
  try {
    return readFields(JSON.parse(text));
  } catch {
    return { fault: 'is not valid JSON' };
  }
}

/** What is longer is not kept: a file without line ends must not fill the memory. */
const longestLine = 64 * 1024;
const lineEnd = 0x0a;

/** The lines that end in each chunk; undefined for one that is too long. */
async function* chunksOfLines(input: AsyncIterable<Buffer>): AsyncGenerator<(Buffer | undefined)[]> {
  let begun: Buffer[] = [];
  let length = 0;
  const take = (part: Buffer): void => {
    length += part.length;
    if (length <= longestLine) begun.push(part);
    else begun = [];
  };
  const end = (): Buffer | undefined => {
    const line = length > longestLine ? undefined : begun.length === 1 ? begun[0] : Buffer.concat(begun);
    [begun, length] = [[], 0];
    return line;
  };
  for await (const chunk of input) {
    const lines: (Buffer | undefined)[] = [];
    let from = 0;
    for (let to = chunk.indexOf(lineEnd); to !== -1; to = chunk.indexOf(lineEnd, from)) {
      take(chunk.subarray(from, to));
      lines.push(end());
      from = to + 1;
    }
    if (from < chunk.length) take(chunk.subarray(from));
    yield lines;
  }
  if (length > 0) yield [end()];
}

/** Read at once; its lines are looked up together. */
const chunkBytes = 1024 * 1024;

function open(file: string): Readable {
  if (file === standardInput) return process.stdin;
  const bytes = createReadStream(file, { highWaterMark: chunkBytes });
  // What goes wrong ends the stream that is read, and is thrown there.
  return file.endsWith('.gz') ? pipeline(bytes, createGunzip({ chunkSize: chunkBytes }), () => undefined) : bytes;
}

/**
 * The lines of an access log (NDJSON, `.gz` too, `-` for standard input), blank ones left out, some thousand at a time; never more in memory.
 *
 * @throws SettingError if it cannot be read
 */
export async function* readAccessLog(file: string): AsyncGenerator<LogLine[]> {
  let number = 0;
  try {
    for await (const lines of chunksOfLines(open(file))) {
      const read: LogLine[] = [];
      for (const bytes of lines) {
        number += 1;
        const line = readLine(bytes);
        if (line !== undefined) read.push({ number, ...line });
      }
      yield read;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    cannotRead(file, error);
  }
}
