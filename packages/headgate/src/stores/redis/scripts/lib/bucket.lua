-- The hot path's reading of a bucket: its parameters, and a value as it stands now.
local units, us, cost, full = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local match, format, floor, ceil, call = string.match, string.format, math.floor, math.ceil, redis.call
local per_ms = us / units / 1000

-- Millionths used; or nil and the end of a ban, as text; or nil alone for what decide must look at.
local function used_now(value)
  local stored, since = match(value, '^(%d+):(%d+)$')
  if not stored then
    local till = match(value, '^!(%d+)!$') or match(value, '^!(%d+)!%d+:%d+$')
    if till and tonumber(till) > now then return nil, till end
    return nil
  end
  local elapsed = now - since
  if elapsed < 0 then return nil end
  local flowed = elapsed * units
  -- The product is exact below 2^53. The rest is so rare that its functions are only made when it comes.
  if flowed > 9007199254740991 then
--@include credit
    return stored - credit(elapsed, tonumber(stored), units, us)
  end
  local used = stored - floor(flowed / us)
  if used < 0 then return 0 end
  return used
end

-- Two longer than the time to full: rounded up, and Redis drops a key up to 1 ms early.
local function ttl(used)
  return format('%d', ceil(used * per_ms) + 2)
end
