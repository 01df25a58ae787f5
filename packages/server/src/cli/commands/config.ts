import { configOf } from '../../config.js';
import type { serveSettings } from '../../settings/serve.js';
import type { Setting } from '../../settings/setting.js';
import type { Work } from '../command.js';
import { out } from '../out.js';

/** @throws SettingError as the service would */
export const configPrint: Work<typeof serveSettings & { readonly json: Setting<boolean> }> = async (reading) => {
  const origins = reading.origins.filter(({ name }) => name !== 'json');
  configOf(reading);
  if (reading.values.json)
    out(JSON.stringify(Object.fromEntries(origins.map(({ name, shown, from }) => [name, { value: shown, from }])), undefined, 2));
  else {
    const [first, second] = [Math.max(...origins.map(({ name }) => name.length)), Math.max(...origins.map(({ shown }) => shown.length))];
    for (const { name, shown, from } of origins) out(`${name.padEnd(first)}  ${shown.padEnd(Math.min(second, 48))}  ${from}`);
  }
};
