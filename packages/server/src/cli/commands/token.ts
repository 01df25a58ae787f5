import type { Role } from '../../rules/records.js';
import type { readingSettings, writingSettings } from '../../settings/database.js';
import type { Setting } from '../../settings/setting.js';
import type { Work } from '../command.js';
import { inDatabase } from '../in-database.js';
import { out } from '../out.js';

export const create: Work<typeof writingSettings & { readonly role: Setting<Role> }> = ({ operands: [name = ''], values }) =>
  inDatabase(values, async ({ tokens }) => out((await tokens.create({ name, role: values.role, by: values.author })).token));

export const list: Work<typeof readingSettings> = ({ values }) =>
  inDatabase(values, async ({ tokens }) => {
    for (const { name, role, created, createdBy, revoked } of await tokens.list()) {
      const holds = revoked === undefined ? 'holds' : `revoked ${new Date(revoked).toISOString()}`;
      out(`${name.padEnd(24)} ${[role, new Date(created).toISOString(), createdBy, holds].join('  ')}`);
    }
  });

export const revoke: Work<typeof writingSettings> = ({ operands: [name = ''], values }) =>
  inDatabase(values, async ({ tokens }) => {
    const revoked = await tokens.revoke({ name, by: values.author });
    out(revoked ? `${name}: revoked` : `no token of the name ${JSON.stringify(name)} holds`);
  });
