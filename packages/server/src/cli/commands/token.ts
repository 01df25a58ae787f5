import { readRulesConfig, SettingError } from '../../config.js';
import { openDatabase } from '../../database/open.js';
import { roles, type Role } from '../../rules/records.js';
import { orTell } from '../faults.js';

export const help = `headgate token create NAME --role read|operate|edit --database URL
headgate token list --database URL
headgate token revoke NAME --database URL

Tokens of the admin API: read looks; operate also resets, bans and switches rules off; edit also changes rules. A token is shown once; the
database keeps only its hash. As long as there is none, the admin API serves only its own machine.

  --database URL   sqlite:PATH or postgres://...                    HEADGATE_DATABASE
  --author NAME    who does it; the user of the system by default   HEADGATE_AUTHOR

Ends with 78 if a setting is faulty, with 1 if the database cannot do it.
`;

function roleOf(text: string | undefined): Role {
  const role = roles.find((one) => one === text);
  if (role === undefined) throw new SettingError(`--role: expected one of ${roles.join(', ')}`);
  return role;
}

async function work(verb: string, args: readonly string[]): Promise<void> {
  if (!['create', 'list', 'revoke'].includes(verb)) throw new SettingError(`unknown: headgate token ${verb}; see headgate help token`);
  const config = readRulesConfig(args, verb === 'list' ? [0, 0] : [1, 1]);
  const [name = ''] = config.operands;
  const { author: by } = config;
  const role = verb === 'create' ? roleOf(config.role) : undefined;
  const { tokens, close } = openDatabase(config.database);
  try {
    if (role !== undefined) process.stdout.write(`${(await tokens.create({ name, role, by })).token}\n`);
    else if (verb === 'revoke') {
      const revoked = await tokens.revoke({ name, by });
      process.stdout.write(revoked ? `${name}: revoked\n` : `no token of the name ${JSON.stringify(name)} holds\n`);
    } else {
      const rows = (await tokens.list()).map((token) => [
        token.name,
        token.role,
        new Date(token.created).toISOString(),
        token.createdBy,
        token.revoked === undefined ? 'holds' : `revoked ${new Date(token.revoked).toISOString()}`,
      ]);
      for (const [nameOf = '', ...rest] of rows) process.stdout.write(`${nameOf.padEnd(24)} ${rest.join('  ')}\n`);
    }
  } finally {
    await close();
  }
}

/** Answers the exit code. */
export const token = ([verb = '', ...args]: readonly string[]): Promise<number> => orTell(() => work(verb, args));
