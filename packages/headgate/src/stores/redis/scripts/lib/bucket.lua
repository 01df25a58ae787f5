-- The hot path's reading of a bucket: its parameters, and a value as it stands now.
local units, us, cost, full = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local match, format, floor, ceil, call = string.match, string.format, math.floor, math.ceil, redis.call
local pack, unpack_pair = struct.pack, struct.unpack
local per_ms = us / units / 1000
--@include pair
local layout = full < NARROW and PAIR or WIDE_PAIR

-- Millionths used; or nil and the end of a ban, as text; or nil alone for what decide must look at.
local function used_now(value)
  local size = #value
  local since, stored
  if size == 12 then
    since, stored = unpack_pair(PAIR, value)
  elseif size == 14 then
    since, stored = unpack_pair(WIDE_PAIR, value)
  end
  -- Text reads as a time far ahead.
  if not since or since > now then
    local till, state = match(value, '^!(%d+)!(.*)$')
    if till and tonumber(till) > now and (state == '' or #state == 12 or #state == 14) then return nil, till end
    return nil
  end
  local elapsed = now - since
  local flowed = elapsed * units
  -- The product is exact below 2^53. The rest is so rare that its functions are only made when it comes.
  if flowed > 9007199254740991 then
--@include credit
    return stored - credit(elapsed, stored, units, us)
  end
  local used = stored - floor(flowed / us)
  if used < 0 then return 0 end
  return used
end

-- Two longer than the time to full: rounded up, and Redis drops a key up to 1 ms early.
local function ttl(used)
  return format('%d', ceil(used * per_ms) + 2)
end
