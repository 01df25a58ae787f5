import type { Role } from '../../rules/records.js';
import type { readingSettings, writingSettings } from '../../settings/database.js';
import type { Setting } from '../../settings/setting.js';
import type { Work } from '../command.js';
import { inDatabase } from '../in-database.js';
import { lookOf, out, outJson } from '../out.js';
import { table, type Cell } from '../table.js';
import { showTime } from '../time.js';

type Json = Readonly<Record<'json', Setting<boolean>>>;

export const create: Work<typeof writingSettings & Json & { readonly role: Setting<Role> }> = ({ operands: [name = ''], values }) =>
  inDatabase(values, async ({ tokens }) => {
    const { role, author: by, json } = values;
    const { token } = await tokens.create({ name, role, by });
    if (json) outJson({ token, name, role });
    else out(token);
  });

const columns = [{ title: 'NAME' }, { title: 'ROLE' }, { title: 'MADE' }, { title: 'BY' }, { title: 'STATE' }];

export const list: Work<typeof readingSettings & Json> = ({ values }) =>
  inDatabase(values, async ({ tokens }) => {
    const all = await tokens.list();
    const time = (ms: number): string => new Date(ms).toISOString();
    if (values.json) {
      const shown = all.map(({ created, revoked, ...rest }) => ({
        ...rest,
        created: time(created),
        ...(revoked !== undefined && { revoked: time(revoked) }),
      }));
      outJson({ tokens: shown });
    } else if (all.length === 0)
      out('there is no token, so the admin API serves only its own machine; headgate token create NAME --role ROLE');
    else {
      const rows = all.map(({ name, role, created, createdBy, revoked }) => {
        const state: Cell =
          revoked === undefined ? { text: 'holds', color: 'green' } : { text: `revoked ${showTime(revoked)}`, color: 'red' };
        return [name, role, showTime(created), createdBy, state];
      });
      out(table(columns, rows, lookOf()));
    }
  });

export const revoke: Work<typeof writingSettings> = ({ operands: [name = ''], values }) =>
  inDatabase(values, async ({ tokens }) => {
    const revoked = await tokens.revoke({ name, by: values.author });
    out(revoked ? `${name}: revoked` : `no token of the name ${JSON.stringify(name)} holds`);
  });
