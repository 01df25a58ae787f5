// Ways to keep the state of token buckets in Redis, side by side.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packOf, textOf } from './clients.mjs';

const textFile = (name) => readFileSync(join(import.meta.dirname, `${name}.lua`), 'utf8');

/** A key for each client; `keyOf` makes its name. */
const single = (name, script, keyOf, more) => ({ name, script, prepare: () => ({ keyOf }), ...more });

/** A key for about `each` clients; which one a client is in never changes. */
function packed(name, script, each, more) {
  return {
    name,
    script,
    packed: true,
    prepare(clients) {
      // A power of two: the packs are the first bits of the MAC. Their number is the hash tag, so all rules of a client are on one slot.
      const bits = Math.max(1, Math.round(Math.log2(clients / each)));
      const names = Array.from(
        { length: 2 ** bits },
        (_, pack) => `hg:2{${Buffer.from([pack >> 16, pack >> 8, pack]).toString('base64url')}}b:api`,
      );
      return { packs: names.length, keyOf: (macs, i) => names[packOf(macs, i, bits)] };
    },
    ...more,
  };
}

/** `inexact`: decides by whole microseconds; `config`: settings of Redis; `length`: Lua for how many clients the key `k` holds. */
const layouts = [
  // Keys were 22 characters of HMAC then; which they are does not matter.
  single('key each, text', 'text', (macs, i) => `hg:1:{#${textOf(macs, i)}012345}:b:api`),
  single('key each, 12 bytes', 'binary', (macs, i) => `hg:2{${textOf(macs, i)}}b:api`),
  single('key each of 14 characters, integer', 'integer', (macs, i) => `{${textOf(macs, i, 9)}}`, { inexact: true }),
  packed('hash of 32', 'hash', 32, { length: `redis.call('HLEN', k)` }),
  packed('hash of 64', 'hash', 64, { length: `redis.call('HLEN', k)` }),
  packed('hash of 128', 'hash', 128, { length: `redis.call('HLEN', k)` }),
  packed('hash of 128, max-listpack-entries 64', 'hash', 128, {
    length: `redis.call('HLEN', k)`,
    config: { 'hash-max-listpack-entries': '64' },
  }),
  packed('string of 32, made anew', 'string', 32, { length: `redis.call('STRLEN', k) / 18` }),
  packed('string of 32, in place', 'in-place', 32, { length: `(redis.call('STRLEN', k) - 6) / 18` }),
  packed('string of 64, in place', 'in-place', 64, { length: `(redis.call('STRLEN', k) - 6) / 18` }),
  packed('sorted set of 32', 'sorted-set', 32, { length: `redis.call('ZCARD', k)`, inexact: true }),
];

const prelude = textFile('prelude');

/** With the text of their scripts. */
export const allLayouts = layouts.map((layout) => ({ ...layout, source: `${prelude}\n${textFile(layout.script)}` }));
