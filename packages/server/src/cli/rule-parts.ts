import { parse } from 'yaml';
import type { DatabaseAddress } from '../database/address.js';
import { loadRules } from '../rules/load.js';
import type { Parts, Version } from '../rules/repository.js';
import { SettingError } from '../redis-address.js';
import { inDatabase } from './in-database.js';
import { readText } from './read-text.js';
import { query, withService, type ClientValues } from './service.js';
import { ServiceError } from './service-error.js';
import { exitCodes } from './exit-codes.js';

/** Rules with what is known of where they come from. */
export interface Known extends Parts {
  /** Undefined: of a file. */
  readonly version: number | undefined;
  /** The version's author, time and reason, if it was found. */
  readonly made: Pick<Version, 'author' | 'at' | 'reason'> | undefined;
  /** Switches that go before what a rule says of itself. */
  readonly shadows: readonly { readonly rule: string; readonly on: boolean }[];
}

export interface Whence {
  readonly file: string | undefined;
  readonly database: DatabaseAddress | undefined;
  readonly service: ClientValues;
  readonly version: number | undefined;
}

function inFile(file: string, text: string): Known {
  // For its faults with their lines.
  loadRules(file, text);
  const { version: _, rules, ...blocks } = parse(text) as { readonly version: 1; readonly rules: readonly Record<string, unknown>[] };
  const named = rules.map(({ name, ...rule }) => [String(name), rule] as const);
  return { version: undefined, made: undefined, shadows: [], rules: new Map(named), blocks: new Map(Object.entries(blocks)) };
}

const fromDatabase = (address: DatabaseAddress, version: number | undefined): Promise<Known> =>
  inDatabase({ database: address }, async ({ rules, shadows }) => {
    const set = await (version === undefined ? rules.current() : rules.at(version));
    const [made] = await rules.history({ limit: 1, before: set.version + 1 });
    return { ...set, made, shadows: version === undefined ? await shadows.list() : [] };
  });

interface Answers {
  readonly set: { readonly version: number; readonly rules: Record<string, unknown>; readonly blocks: Record<string, unknown> };
  readonly history: { readonly versions: readonly (Omit<Version, 'at'> & { readonly at: string })[] };
  readonly switches: { readonly shadows: readonly { readonly rule: string; readonly on: boolean }[] };
}

const fromService = (values: ClientValues, version: number | undefined): Promise<Known> =>
  withService(values, async ({ url, ask }) => {
    const get = async <T>(path: string): Promise<T> => {
      const answer = await ask('GET', `/admin/v1${path}`).catch((error: unknown) => {
        if (!(error instanceof ServiceError) || error.status !== 404 || version !== undefined) throw error;
        throw new ServiceError(exitCodes.rejected, `${url} has its rules in a file; name it: headgate rules list FILE`, 404);
      });
      return answer as T;
    };
    const set = await get<Answers['set']>(`/rules${query({ version })}`);
    const { versions } = await get<Answers['history']>(`/versions${query({ limit: 1, before: set.version + 1 })}`);
    const { shadows } = version === undefined ? await get<Answers['switches']>('/shadows') : { shadows: [] };
    const [made] = versions.map(({ at, ...rest }) => ({ ...rest, at: new Date(at).getTime() }));
    return { version: set.version, made, shadows, rules: new Map(Object.entries(set.rules)), blocks: new Map(Object.entries(set.blocks)) };
  });

/** Rules of a file, else of the database, else of the service. */
export async function rulesFrom({ file, database, service, version }: Whence): Promise<Known> {
  if (file !== undefined) {
    if (version !== undefined) throw new SettingError('--version: a file has none; leave out the file or the version');
    return inFile(file, await readText(file));
  }
  return database === undefined ? fromService(service, version) : fromDatabase(database, version);
}
