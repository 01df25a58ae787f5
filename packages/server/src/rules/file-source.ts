import { readFile, stat } from 'node:fs/promises';
import { followFiles } from '../watching.js';
import type { RuleSet } from './compile.js';
import { RulesError } from './faults.js';
import { largestFile, load } from './load.js';
import { inSlices } from './slices.js';
import { systemTiming, type Timing } from './timing.js';

/** A file's text, or why there is none. */
type Content = { readonly text: string } | { readonly problem: string };

async function read(file: string): Promise<Content> {
  try {
    const { size } = await stat(file);
    if (size > largestFile) return { problem: `the file is larger than ${largestFile} bytes; is it the right one?` };
    return { text: await readFile(file, 'utf8') };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    return {
      problem: `${code === 'ENOENT' ? 'there is no such file' : `the file cannot be read (${code})`}; a missing file is not "no limits"`,
    };
  }
}

const isSame = (a: Content, b: Content): boolean =>
  'text' in a ? 'text' in b && a.text === b.text : 'problem' in b && a.problem === b.problem;

async function compile(file: string, content: Content, before?: RuleSet): Promise<RuleSet> {
  if ('problem' in content) throw new RulesError([{ file, line: 1, message: content.problem }]);
  return inSlices(load(file, content.text, before?.compiled));
}

export interface FileWatch {
  /** A promise that it answers is waited for before the file is looked at again. */
  readonly onRules: (rules: RuleSet) => unknown;
  /** Once for each faulty content; the rules in force stay. */
  readonly onFault: (error: RulesError) => void;
}

/** How the file stands to what is in force. */
export interface FileState {
  /** When it was read, or found to be the same, last; in milliseconds since 1970. */
  readonly confirmed: number;
  /** Whether it could be read when it was looked at last. */
  readonly isReachable: boolean;
}

export interface RulesFileSource {
  readonly rules: RuleSet;
  state(): FileState;
  /** Watches for other content; the function returned stops it. */
  watch(on: FileWatch): () => void;
}

/**
 * Opens a rules file. It is then watched by its content, so that editors that replace the file, Kubernetes mounts that swap a symlink
 * and a file that is gone for a while are all the same.
 *
 * @throws RulesError with every fault
 */
export async function openRulesFile(file: string, { now }: Pick<Timing, 'now'> = systemTiming): Promise<RulesFileSource> {
  const content = await read(file);
  const rules = await compile(file, content);
  let current = rules;
  let isInForce = true;
  let state: FileState = { confirmed: now(), isReachable: true };

  function watchFile({ onRules, onFault }: FileWatch): () => void {
    let stopped = false;

    async function use(found: Content): Promise<void> {
      isInForce = false;
      try {
        const next = await compile(file, found, current);
        if (stopped) return;
        await onRules(next);
        current = next;
        isInForce = true;
      } catch (error) {
        onFault(error instanceof RulesError ? error : new RulesError([{ file, line: 1, message: (error as Error).message }]));
      }
    }

    const stopFollowing = followFiles({
      files: [file],
      read: () => read(file),
      isSame,
      known: content,
      onChange: use,
      onLook: (found) => (state = { confirmed: isInForce ? now() : state.confirmed, isReachable: 'text' in found }),
    });
    return () => {
      stopped = true;
      stopFollowing();
    };
  }

  return { rules, state: () => state, watch: watchFile };
}
