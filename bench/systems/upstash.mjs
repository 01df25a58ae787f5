// @upstash/ratelimit talks HTTP to its service. Here its limiter gets a client that sends the same scripts to a Redis by
// ioredis: one EVALSHA for each check.
import { Ratelimit } from '@upstash/ratelimit';
import { createHash } from 'node:crypto';

const sha1 = (text) => createHash('sha1').update(text).digest('hex');

/** The two calls that the limiter makes, by its own hashes: NOSCRIPT the first time, as from its service. */
function localRedis(client) {
  const known = new Map();
  return {
    async evalsha(hash, keys, args) {
      const sha = known.get(hash);
      if (sha === undefined) throw new Error('NOSCRIPT');
      return client.evalsha(sha, keys.length, ...keys, ...args);
    },
    async eval(script, keys, args) {
      // A flag of its service, which Redis refuses.
      const plain = script.replace(/^#!lua flags=allow-key-locking/, '');
      known.set(sha1(script), await client.script('LOAD', plain));
      return client.eval(plain, keys.length, ...keys, ...args);
    },
  };
}

async function asking({ env, limiter, prefix }) {
  const client = await env.connect();
  const ratelimit = new Ratelimit({ redis: localRedis(client), limiter, prefix });
  const { cost, refuse } = env;
  return {
    ask: cost > 1 ? (key) => ratelimit.limit(key, { rate: cost }) : (key) => ratelimit.limit(key),
    passed: ({ success }) => success,
    // It remembers by itself who is refused.
    local: refuse,
    close: () => client.disconnect(),
  };
}

const fixedWindow = (env) => asking({ env, limiter: Ratelimit.fixedWindow(env.most, `${env.windowSeconds} s`), prefix: 'upw' });
const tokenBucket = (env) => asking({ env, limiter: Ratelimit.tokenBucket(1, env.refuse ? '1 d' : '1 m', env.most), prefix: 'upb' });

export const upstashSystems = {
  upstash: { title: '@upstash, window', package: '@upstash/ratelimit', start: fixedWindow },
  'upstash-bucket': { title: '@upstash, bucket', package: '@upstash/ratelimit', start: tokenBucket },
};
