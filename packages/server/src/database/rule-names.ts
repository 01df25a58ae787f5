import type { Kysely } from 'kysely';
import { everyRule } from '../rules/customer.js';
import { checkText, InputError } from '../rules/inputs.js';
import type { Tables } from './tables.js';

/** What the rule in force of this name says, as JSON; undefined if there is none. @throws InputError */
export async function findRule(db: Kysely<Tables>, name: string): Promise<string | undefined> {
  checkText('rule', name, [1, 128]);
  const row = await db
    .selectFrom('entries')
    .select('body')
    .where('kind', '=', 'rule')
    .where('name', '=', name)
    .where('until', 'is', null)
    .executeTakeFirst();
  return row?.body;
}

/**
 * A rule's name, or `*`.
 *
 * @throws InputError if there is no such rule: a misspelt name would have no effect, in silence
 */
export async function assertRuleOrEvery(db: Kysely<Tables>, name: string): Promise<void> {
  if (name !== everyRule && (await findRule(db, name)) === undefined)
    throw new InputError('rule', `there is no rule ${JSON.stringify(name)}; put it first, or see the rules for the names there are`);
}
