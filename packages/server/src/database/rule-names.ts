import type { Kysely } from 'kysely';
import { everyRule } from '../rules/customer.js';
import { checkText, InputError } from '../rules/inputs.js';
import type { Tables } from './tables.js';

/**
 * What the rule in force of this name says, as JSON.
 *
 * @throws InputError if there is none: a misspelt name would have no effect, in silence
 */
export async function ruleInForce(db: Kysely<Tables>, name: string): Promise<string> {
  checkText('rule', name, [1, 128]);
  const row = await db
    .selectFrom('entries')
    .select('body')
    .where('kind', '=', 'rule')
    .where('name', '=', name)
    .where('until', 'is', null)
    .executeTakeFirst();
  if (row === undefined)
    throw new InputError('rule', `there is no rule ${JSON.stringify(name)}; put it first, or see the rules for the names there are`);
  return row.body;
}

/** A rule's name, or `*`. @throws InputError */
export async function assertRuleOrEvery(db: Kysely<Tables>, name: string): Promise<void> {
  if (name !== everyRule) await ruleInForce(db, name);
}
