// npm run attack:login: credential stuffing against one login, by a limit per address alone and by the recipe `login`. Time is virtual, so that
// minutes pass in seconds; rules, limiter and algorithms are those that serve.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLimiter, memoryStore, tokenBucket } from 'headgate';
import { deviceTokens } from 'headgate/http';
import { fakeClock } from 'headgate/testing';
import { loadRules } from '../../packages/server/dist/rules/load.js';
import { aligned } from '../../bench/table.mjs';

const addresses = 10_000;
const triesPerMinute = 120;
const minutes = 5;
const stepMs = 100;
const triesPerStep = (addresses * triesPerMinute * stepMs) / 60_000;

const recipe = join(import.meta.dirname, '../../packages/server/rules/recipes/login.yaml');

const perAddress = {
  title: 'per address alone: 120 a minute',
  rules: { ip: { limit: tokenBucket({ capacity: 120, refill: '120/m' }) } },
  checks: ({ address }) => [{ rule: 'ip', key: address }],
  success: async () => undefined,
};

const byRecipe = {
  title: 'the recipe `login`',
  rules: loadRules(recipe, readFileSync(recipe, 'utf8')).options,
  checks: ({ address, account, device }) => [
    { rule: 'login-ip', key: address },
    { rule: 'login-everybody', key: '*' },
    device === undefined ? { rule: 'login-account', key: account } : { rule: 'login-device', key: JSON.stringify([account, device]) },
  ],
  success: (limiter, group) => limiter.outcome(group.decisions.at(-1), 'success'),
};

/** What reaches the password, by minute and account, and whether the owner gets in. */
async function attacked({ rules, checks, success }) {
  const clock = fakeClock();
  const limiter = createLimiter({ store: memoryStore({ clock, maxKeys: 100_000 }), rules, clock });
  const devices = deviceTokens({ secret: 'a secret of this run', clock });
  const device = devices.verify('alice', devices.issue('alice'));
  const seen = { ofAlice: [], ofAll: [], ownerKnown: 0, ownerUnknown: 0, ownerTries: 0 };
  let next = 0;
  for (let minute = 0; minute < minutes; minute += 1) {
    let [ofAlice, ofAll] = [0, 0];
    for (let step = 0; step < 60_000 / stepMs; step += 1) {
      for (let i = 0; i < triesPerStep; i += 1) {
        next += 1;
        // Half of the tries are at one account, the others at as many accounts as there are addresses.
        const account = next % 2 === 0 ? 'alice' : `account${next % addresses}`;
        const { allowed } = await limiter.checkAll(checks({ address: `198.51.${(next % addresses) >> 8}.${next & 255}`, account }));
        if (allowed) ofAll += 1;
        if (allowed && account === 'alice') ofAlice += 1;
      }
      clock.advance(stepMs * 1000);
    }
    // The owner: from home, and from a device that nobody knows.
    seen.ownerTries += 1;
    for (const [name, known] of [
      ['ownerKnown', device],
      ['ownerUnknown', undefined],
    ]) {
      const group = await limiter.checkAll(checks({ address: `203.0.113.${minute}`, account: 'alice', device: known }));
      if (!group.allowed) continue;
      seen[name] += 1;
      if (known !== undefined) await success(limiter, group);
    }
    seen.ofAlice.push(ofAlice);
    seen.ofAll.push(ofAll);
  }
  await limiter.close();
  return seen;
}

const whole = (n) => Math.round(n).toLocaleString('en');
console.log(
  `${whole(addresses)} addresses, each ${triesPerMinute} tries a minute (${whole((addresses * triesPerMinute) / 60)} a second), half of them at one account; ${minutes} minutes\n`,
);
const lines = [['', 'passwords tried a second', 'at the one account, by minute', 'owner, known device', 'owner, unknown device']];
const found = {};
for (const [name, system] of Object.entries({ perAddress, byRecipe })) {
  const seen = await attacked(system);
  found[name] = seen;
  const perSecond = seen.ofAll.reduce((sum, n) => sum + n, 0) / (minutes * 60);
  const of = (n) => `${n} of ${seen.ownerTries}`;
  lines.push([system.title, whole(perSecond), seen.ofAlice.map(whole).join(' '), of(seen.ownerKnown), of(seen.ownerUnknown)]);
}
console.log(aligned(lines).join('\n'));

const { ofAlice, ofAll, ownerKnown, ownerTries } = found.byRecipe;
// The bucket of all together: what it holds, and what comes back.
const mostOfAll = 2000 + 200 * 60 * minutes;
const holds = Math.max(...ofAlice) <= 5 && ofAll.reduce((sum, n) => sum + n, 0) <= mostOfAll && ownerKnown === ownerTries;
console.log(
  `\n${holds ? 'holds' : 'DOES NOT HOLD'}: at most 5 tries a minute at an account, ${whole(mostOfAll)} of all together, the owner on a known device gets in`,
);
process.exitCode = holds ? 0 : 1;
