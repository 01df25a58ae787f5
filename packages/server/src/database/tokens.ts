import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { checkOneOf, checkText, InputError, lengths } from '../rules/inputs.js';
import { roles, type TokenInfo, type TokensRepository } from '../rules/records.js';
import { recorded } from './audit.js';
import type { Tables } from './tables.js';
import type { Writing } from './writing.js';

/** Begins every token, so that scanners of repositories know one when they see it. */
const prefix = 'headgate_';
const bytes = 32;
const shape = /^headgate_[A-Za-z0-9_-]{43}$/;

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');

const infoOf = ({ name, role, created_at, created_by, revoked_at }: Tables['tokens']): TokenInfo => ({
  name,
  role,
  created: created_at,
  createdBy: created_by,
  ...(revoked_at === null ? undefined : { revoked: revoked_at }),
});

export function tokensRepository(writing: Writing): TokensRepository {
  const { db } = writing;
  return {
    async create({ by, ...given }) {
      const name = checkText('name', given.name, lengths.token);
      const role = checkOneOf('role', given.role, roles);
      const token = `${prefix}${randomBytes(bytes).toString('base64url')}`;
      let info: TokenInfo | undefined;
      await recorded(writing, { by, what: 'token.create', detail: { name, role } }, async (trx, { set_by, set_at }) => {
        const row = { hash: hashOf(token), name, role, created_at: set_at, created_by: set_by, revoked_at: null, revoked_by: null };
        const { numInsertedOrUpdatedRows } = await trx
          .insertInto('tokens')
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirst();
        if (numInsertedOrUpdatedRows === 0n)
          throw new InputError('name', `a token is called ${JSON.stringify(name)} already; revoke it first, or take another name`);
        info = infoOf(row);
        return true;
      });
      if (info === undefined) throw new Error('a token without a row');
      return { token, info };
    },
    async verify(token) {
      if (!shape.test(token)) return undefined;
      const hash = hashOf(token);
      const row = await db.selectFrom('tokens').selectAll().where('hash', '=', hash).where('revoked_at', 'is', null).executeTakeFirst();
      // The index compares as it likes; who has no token cannot aim at a hash. What decides takes the same time for all.
      const isSame = timingSafeEqual(Buffer.from(row?.hash ?? hashOf(''), 'hex'), Buffer.from(hash, 'hex'));
      return row !== undefined && isSame ? infoOf(row) : undefined;
    },
    async list() {
      const rows = await db.selectFrom('tokens').selectAll().orderBy('created_at', 'desc').orderBy('name').execute();
      return rows.map(infoOf);
    },
    async hasAny() {
      const row = await db.selectFrom('tokens').select('name').where('revoked_at', 'is', null).limit(1).executeTakeFirst();
      return row !== undefined;
    },
    revoke({ by, name }) {
      checkText('name', name, lengths.token);
      return recorded(writing, { by, what: 'token.revoke', detail: { name } }, async (trx, { set_by, set_at }) => {
        const query = trx
          .updateTable('tokens')
          .set({ revoked_at: set_at, revoked_by: set_by })
          .where('name', '=', name)
          .where('revoked_at', 'is', null);
        return (await query.executeTakeFirst()).numUpdatedRows > 0n;
      });
    },
  };
}
