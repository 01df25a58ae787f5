-- Put before each layout's script.
-- KEYS: for each check the key its counter is in, a pack's more than once if several of its clients are there; no client is there twice
-- ARGV[1]: millionths that flow back, per ARGV[2]: us; ARGV[3]: cost in millionths; ARGV[4]: capacity in millionths
-- ARGV[5]: for packs, 6 bytes for each check that tell its client from the others in the pack
-- reply: {now, ...}: for each check the millionths used, or -1 - used if refused
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2]
local units, us, cost, full, tags = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local call, format, floor, ceil, sub = redis.call, string.format, math.floor, math.ceil, string.sub
local pack_state, unpack_state = struct.pack, struct.unpack
local STATE = '>I7I5'
local keys, out, count = KEYS, { now }, #KEYS

-- Millionths still used of those that were at `at`. The products are below 2^53 for every limit of this bench.
local function left(at, used)
  local rest = used - floor((now - at) * units / us)
  if rest > 0 then return rest end
  return 0
end

-- Two longer than the time to full: rounded up, and Redis drops a key up to 1 ms early.
local function ttl(used)
  return ceil(used * us / units / 1000) + 2
end

-- A pack's TTL is made longer only when it must be, and then by a quarter more: else nearly each check would set it.
local function with_slack(ms)
  return format('%d', ms * 1.25)
end

-- Packs are swept when their TTL is made longer, which happens a few times in the time a bucket needs to be full, and by one check in 32:
-- one that is written often may long have a TTL that is long enough.
local function sweeps(k)
  return (now + k) % 32 == 0
end

local function tag_of(k)
  return sub(tags, 6 * k - 5, 6 * k)
end
