import { createHash } from 'node:crypto';
import type { RedisAdapter } from './adapters/adapter.js';
import { sources } from './gen/sources.js';

/** A script as it is called: its keys and arguments, and what its reply becomes. */
export interface Script<Args extends readonly string[], Reply> {
  readonly name: keyof typeof sources;
  readonly source: string;
  readonly sha: string;
  /** Names of the arguments, as the header's ARGV lines tell them. */
  readonly args: readonly string[];
  run(adapter: RedisAdapter, keys: readonly string[], args: Args): Promise<Reply>;
}

interface Definition<Reply> {
  readonly args: readonly string[];
  readonly reply: (raw: unknown) => Reply;
  /** Tests load a copy with the line that reads the clock replaced. */
  readonly edit?: ((source: string) => string) | undefined;
}

const isNoScript = (error: unknown): boolean => error instanceof Error && error.message.includes('NOSCRIPT');

/**
 * Defines a script by its file's name. Runs by EVALSHA; on NOSCRIPT nothing was executed, so the source goes to that same node.
 * Nothing else is ever sent again.
 */
export function defineScript<const Args extends readonly string[], Reply>(
  name: keyof typeof sources,
  { args: names, reply, edit }: Definition<Reply>,
): Script<Args, Reply> {
  const source = edit === undefined ? sources[name] : edit(sources[name]);
  const sha = createHash('sha1').update(source).digest('hex');
  return {
    name,
    source,
    sha,
    args: names,
    // Chained, not awaited: every decision comes through here.
    run(adapter, keys, args) {
      const key = keys[0] ?? '';
      const count = String(keys.length);
      // No literal: V8 soon makes those that outlive a collection among the old objects, where each keeps its keys alive, and collections
      // take twice as long.
      return adapter.send('EVALSHA', [sha, count].concat(keys, args), key).then(reply, (error: unknown) => {
        if (!isNoScript(error)) throw error;
        return adapter.send('EVAL', [source, count, ...keys, ...args], key).then(reply);
      });
    },
  };
}
