import { readFlags, type Flags, type KnownFlags } from './flags.js';
import { SettingError } from './redis-address.js';
import type { Given } from './redis-servers.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting that was looked for: where it was found, for its fault, and what it says; undefined if it is absent or empty. */
export interface Found {
  readonly where: string;
  readonly text: string | undefined;
}

/** Settings of a command: from its flags, else from the environment. Faults are gathered, to be told all at once. */
export class Settings {
  readonly faults: string[] = [];
  readonly #flags: Flags;
  readonly #env: Environment;

  constructor(command: { readonly name: string; readonly flags: KnownFlags }, args: readonly string[], env: Environment) {
    const faults: string[] = [];
    this.#flags = readFlags(args, command.flags, faults);
    this.#env = env;
    this.faults.push(...faults.map((fault) => `${fault}; see headgate help ${command.name}`));
  }

  /** As it was given, be it empty; not from the environment. */
  given(flag: string): string | undefined {
    return this.#flags.get(flag)?.at(-1);
  }

  /** All values of a flag, else those in its variable; `split` tells them apart there. */
  several(flag: string, split: (text: string) => string[]): Given {
    const given = this.#flags.get(flag);
    const where = given === undefined ? `HEADGATE_${flag.toUpperCase().replaceAll('-', '_')}` : `--${flag}`;
    return { where, texts: (given ?? split(this.#env[where] ?? '')).filter((text) => text !== '') };
  }

  find(flag: string): Found {
    const { where, texts } = this.several(flag, (text) => [text]);
    return { where, text: texts.at(-1) };
  }

  text(flag: string): string | undefined {
    return this.find(flag).text;
  }

  /** Of what is in the environment only. Empty is not absent: nobody sets it for nothing. */
  variable(name: string): Found {
    return { where: name, text: this.#env[name] };
  }

  whole({ where, text }: Found, [least, most]: readonly [number, number], what = 'a whole number'): number | undefined {
    if (text === undefined) return undefined;
    if (/^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
    this.faults.push(`${where}: expected ${what} from ${least} to ${most}; got ${JSON.stringify(text)}`);
    return undefined;
  }

  oneOf({ where, text }: Found, known: readonly string[]): string | undefined {
    if (text === undefined || known.includes(text)) return text;
    this.faults.push(`${where}: expected one of ${known.join(', ')}; got ${JSON.stringify(text)}`);
    return undefined;
  }

  /** In milliseconds. */
  deadline({ where, text }: Found): number | undefined {
    if (text === undefined) return undefined;
    const [, number, unit] = /^(\d{1,5})(ms|s)$/.exec(text) ?? [];
    const ms = Number(number) * (unit === 's' ? 1000 : 1);
    if (ms >= 1 && ms <= 60_000) return ms;
    this.faults.push(`${where}: expected 1ms to 60s, such as "10ms"; got ${JSON.stringify(text)}`);
    return undefined;
  }

  /** @throws SettingError with a line for each fault, if there is any */
  assertFaultless(): void {
    if (this.faults.length > 0) throw new SettingError(this.faults.join('\n'));
  }
}
