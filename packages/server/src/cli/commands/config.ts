import { configOf } from '../../config.js';
import type { serveSettings } from '../../settings/serve.js';
import type { Setting } from '../../settings/setting.js';
import type { Work } from '../command.js';
import { lookOf, out, outJson } from '../out.js';
import { table } from '../table.js';

const columns = [{ title: 'SETTING' }, { title: 'VALUE' }, { title: 'FROM' }];

/** @throws SettingError as the service would */
export const configPrint: Work<typeof serveSettings & { readonly json: Setting<boolean> }> = async (reading) => {
  const origins = reading.origins.filter(({ name }) => name !== 'json');
  configOf(reading);
  if (reading.values.json) outJson(Object.fromEntries(origins.map(({ name, shown, from }) => [name, { value: shown, from }])));
  else
    out(
      table(
        columns,
        origins.map(({ name, shown, from }) => [name, shown, from]),
        lookOf(),
      ),
    );
};
