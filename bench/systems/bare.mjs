// What any limiter must do at least: one script that is a token bucket, a GET and a SET, a lookup in a Map.
import { createHash } from 'node:crypto';

// The leanest token bucket that is still correct at one microsecond: three commands, one call for each check.
const leanest = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local v = redis.call('GET', KEYS[1])
local used = 0
if v then
  local c = string.find(v, ':', 1, true)
  used = math.max(0, string.sub(v, 1, c - 1) - (now - string.sub(v, c + 1)) * ARGV[2])
end
used = used + ARGV[3]
if used > tonumber(ARGV[1]) then return -1 end
redis.call('SET', KEYS[1], string.format('%.6f:%d', used, now), 'PX', math.ceil(used / ARGV[2] / 1000))
return 1`;

async function evalsha({ connect, most, refuse, rules, cost }) {
  const client = await connect();
  const sha = createHash('sha1').update(leanest).digest('hex');
  await client.script('LOAD', leanest);
  const args = [String(most), String(1 / (refuse ? 86_400e6 : 60e6)), String(cost)];
  const one = (key, prefix) => client.evalsha(sha, 1, `${prefix}:${key}`, ...args);
  const prefixes = ['raw', 'raw2', 'raw3'].slice(0, rules);
  const ask = rules > 1 ? (key) => Promise.all(prefixes.map((prefix) => one(key, prefix))) : (key) => one(key, 'raw');
  const passed = rules > 1 ? (replies) => replies.every((reply) => reply === 1) : (reply) => reply === 1;
  return { ask, passed, close: () => client.disconnect() };
}

/** So many checks in one pipeline: one for all that wait would leave Redis idle while the process works. */
const inPipeline = 64;

async function getAndSet({ connect, windowSeconds }) {
  const client = await connect();
  let waiting = [];
  async function send(group) {
    const pipeline = client.pipeline();
    for (const { key } of group) pipeline.get(`bare:${key}`).set(`bare:${key}`, '1000000:1700000000000000', 'PX', windowSeconds * 1000);
    const replies = await pipeline.exec();
    for (let i = 0; i < group.length; i += 1) group[i].answered(replies[2 * i + 1][1]);
  }
  function flush() {
    const all = waiting;
    waiting = [];
    for (let i = 0; i < all.length; i += inPipeline) void send(all.slice(i, i + inPipeline));
  }
  return {
    ask: (key) =>
      new Promise((answered) => {
        if (waiting.push({ key, answered }) === 1) process.nextTick(flush);
      }),
    passed: (reply) => reply === 'OK',
    close: () => client.disconnect(),
  };
}

async function map({ refuse }) {
  const seen = new Map();
  return {
    async ask(key) {
      const known = seen.get(key);
      if (known === undefined) seen.set(key, { until: Number.POSITIVE_INFINITY });
      return { allowed: known === undefined || !refuse, key, retryAfterMs: 1 };
    },
    passed: ({ allowed }) => allowed,
    local: true,
    close: () => undefined,
  };
}

export const bareSystems = {
  raw: { title: 'raw EVALSHA', start: evalsha },
  bare: { title: 'bare GET + SET PX', start: getAndSet, sends: ['get', 'set'] },
  map: { title: 'bare Map', start: map, sends: [] },
};
