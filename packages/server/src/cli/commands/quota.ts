import { SettingError } from '../../config.js';
import type { clientSettings, planSetting } from '../../settings/client.js';
import type { Setting } from '../../settings/setting.js';
import type { QuotaState } from '../../usecases/quotas.js';
import type { Work } from '../command.js';
import { lookOf, out, outJson } from '../out.js';
import { inPath, query, withService } from '../service.js';
import { table, type Cell } from '../table.js';
import { showTime } from '../time.js';

export const quotaPath = (key: string): string => `/v1/quotas/${inPath(key)}`;

const columns = [
  { title: 'RULE' },
  { title: 'USED', right: true },
  { title: 'OF', right: true },
  { title: '%', right: true },
  { title: 'SINCE' },
  { title: 'UNTIL' },
] as const;

function row({ rule, used, limit, startsAt, resetsAt, degraded }: QuotaState): (string | Cell)[] {
  const percent = limit === 0 ? 100 : Math.floor((used / limit) * 100);
  const share: Cell = { text: String(percent), color: percent >= 100 ? 'red' : percent >= 80 ? 'yellow' : 'green' };
  return [degraded ? `${rule} (told without the store)` : rule, String(used), String(limit), share, showTime(startsAt), showTime(resetsAt)];
}

const tell = (quotas: readonly QuotaState[]): void => out(table(columns, quotas.map(row), lookOf()));

type Settings = typeof clientSettings & { readonly plan: typeof planSetting; readonly json: Setting<boolean> };

export const show: Work<Settings> = ({ operands: [key = ''], values: { plan, json, ...values } }) =>
  withService(values, async ({ ask }) => {
    const answer = (await ask('GET', quotaPath(key) + query({ plan }))) as { readonly quotas: readonly QuotaState[] };
    if (json) outJson(answer);
    else if (answer.quotas.length === 0) out('no rule in force is a quota for this key');
    else tell(answer.quotas);
  });

export const set: Work<Settings> = ({ operands: [rule = '', key = '', units = ''], values: { plan, json, ...values } }) => {
  const used = Number(units);
  if (!/^\d{1,10}$/.test(units) || used > 9_000_000_000)
    throw new SettingError(`USED: expected a whole number from 0 to 9000000000; got ${JSON.stringify(units)}`);
  return withService(values, async ({ ask }) => {
    const answer = (await ask('PUT', quotaPath(key), { rule, used, plan })) as QuotaState;
    if (json) outJson({ key, ...answer });
    else tell([answer]);
  });
};
