import type { Access, Refused } from './facts.js';
import type { Needed } from './needed.js';
import { faultOf, type Node } from './node.js';

/** What the refusal of a command lacks, by what the server said; undefined if it did not refuse. */
export function refusalOf(text: string, { rule }: Needed, keys: string): Refused | undefined {
  if (/unknown command|command '[^']*' not found/i.test(text)) return { rule, missing: true };
  if (!/permissions/i.test(text)) return undefined;
  return { rule: /\bkeys?\b/i.test(text) && !/ to run /i.test(text) ? keys : rule, missing: false };
}

async function dryRun(node: Node, user: string, { command }: Needed): Promise<string> {
  const said = await node.ask('ACL', 'DRYRUN', user, ...command).catch((error: unknown) => {
    // A command that is not there is an error here, and yet an answer.
    if (error instanceof Error && /command '[^']*' not found/i.test(error.message)) return error.message;
    throw error;
  });
  return String(said);
}

/** Sends it: what a user may not do is refused before anything else is looked at. */
async function trial(node: Node, { command }: Needed): Promise<string> {
  const [name, ...args] = command;
  try {
    await node.ask(name, ...args);
    return '';
  } catch (error) {
    const fault = faultOf(error);
    if (fault === 'TIMEOUT' || fault === 'CLOSED' || fault === 'BUSY') throw error;
    return (error as Error).message;
  }
}

/**
 * Whether the user may do all that is needed: by ACL DRYRUN, from Redis 7.0 on and for who may ask it; else by trying, which
 * touches one key of our own for a second.
 */
export async function readAccess(node: Node, needed: readonly Needed[], keys: string): Promise<Access> {
  const user = await node.ask('ACL', 'WHOAMI').then(String, () => undefined);
  let dry = user !== undefined;
  const refused: Refused[] = [];
  for (const one of needed) {
    let text: string | undefined;
    if (dry && user !== undefined) text = await dryRun(node, user, one).catch(() => undefined);
    // Once it is refused it stays so: each refusal is a line in the server's ACL LOG.
    dry &&= text !== undefined;
    text ??= await trial(node, one);
    const refusal = refusalOf(text, one, keys);
    if (refusal && !refused.some(({ rule }) => rule === refusal.rule)) refused.push(refusal);
  }
  return { user, tried: needed.length, refused };
}
