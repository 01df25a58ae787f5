import { readFileSync } from 'node:fs';
import { LineCounter, isMap, isScalar, parseDocument, type Node } from 'yaml';
import type { Setting } from './setting.js';

/** What a settings file says: texts by the name of a setting. */
export interface SettingsFile {
  readonly name: string;
  readonly values: ReadonlyMap<string, readonly string[]>;
}

const oneText = (value: unknown): string[] | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? [String(value)] : undefined;

/** Texts as flags have them: a list adds up, and a map is `NAME=VALUE`s. Undefined: it is none of these. */
function textsOf(value: unknown, takes: Setting<unknown>['takes']): string[] | undefined {
  if (value === null) return [];
  if (typeof value !== 'object' || takes !== 'values') return oneText(value);
  const parts = Array.isArray(value)
    ? value.map(oneText)
    : Object.entries(value).map(([name, one]) => oneText(one)?.map((text) => `${name}=${text}`));
  return parts.some((part) => part === undefined) ? undefined : parts.flatMap((part) => part ?? []);
}

/**
 * Reads a settings file, YAML or JSON: names of settings with their values. Faults name the line and never show a value, as it may be a secret.
 */
export function readSettingsFile(file: string, known: readonly Setting<unknown>[], faults: string[]): SettingsFile {
  const values = new Map<string, readonly string[]>();
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    faults.push(`${file}: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
    return { name: file, values };
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  for (const { pos, code } of document.errors) faults.push(`${file}:${lines.linePos(pos[0]).line}: no valid YAML (${code})`);
  if (document.errors.length > 0 || document.contents === null) return { name: file, values };
  if (!isMap(document.contents)) {
    faults.push(`${file}:1: expected names of settings with their values, such as "http-port: 8080"`);
    return { name: file, values };
  }
  for (const { key, value } of document.contents.items) {
    const name = isScalar(key) ? String(key.value) : '';
    const at = `${file}:${lines.linePos(isScalar(key) ? (key.range?.[0] ?? 0) : 0).line}`;
    const setting = known.find((one) => one.name === name && one.scope !== 'flag');
    if (setting === undefined) {
      faults.push(`${at}: no setting is called ${JSON.stringify(name.slice(0, 40))}; see headgate help serve`);
      continue;
    }
    const texts = textsOf((value as Node | null)?.toJS(document) ?? null, setting.takes);
    if (texts === undefined)
      faults.push(`${at}: ${name}: expected ${setting.takes === 'values' ? 'a value, a list or NAME: VALUE' : 'one value'}`);
    else values.set(name, texts);
  }
  return { name: file, values };
}
