import { readFile, stat } from 'node:fs/promises';
import { keepLooking, readSettled } from '../watching.js';
import type { RuleSet } from './compile.js';
import { RulesError } from './faults.js';
import { largestFile, loadRules } from './load.js';

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

function compile(file: string, content: Content): RuleSet {
  if ('problem' in content) throw new RulesError([{ file, line: 1, message: content.problem }]);
  return loadRules(file, content.text);
}

export interface FileWatch {
  readonly onRules: (rules: RuleSet) => void;
  /** Once for each faulty content; the rules in force stay. */
  readonly onFault: (error: RulesError) => void;
}

export interface RulesFileSource {
  readonly rules: RuleSet;
  /** Watches for other content; the function returned stops it. */
  watch(on: FileWatch): () => void;
}

/**
 * Opens a rules file. It is then watched by its content, so that editors that replace the file, Kubernetes mounts that swap a symlink
 * and a file that is gone for a while are all the same.
 *
 * @throws RulesError with every fault
 */
export async function openRulesFile(file: string): Promise<RulesFileSource> {
  let last = await read(file);
  const rules = compile(file, last);

  function watchFile({ onRules, onFault }: FileWatch): () => void {
    let looking = false;
    let again = false;
    let stopped = false;

    async function look(): Promise<void> {
      again = looking;
      if (looking || stopped) return;
      looking = true;
      const content = await readSettled({ read: () => read(file), isSame, before: last });
      looking = false;
      if (stopped) return;
      if (again) void look();
      if (isSame(content, last)) return;
      last = content;
      try {
        onRules(compile(file, content));
      } catch (error) {
        onFault(error instanceof RulesError ? error : new RulesError([{ file, line: 1, message: (error as Error).message }]));
      }
    }

    const stopLooking = keepLooking([file], () => void look());
    void look();
    return () => {
      stopped = true;
      stopLooking();
    };
  }

  return { rules, watch: watchFile };
}
