-- take-buckets: the hot path: many checks of token buckets that differ only in their key.
-- KEYS: the state keys, none twice
-- ARGV[1]: millionths that flow back, per ARGV[2]: us; ARGV[3]: cost in millionths; ARGV[4]: capacity in millionths
-- reply: {now, ...}: for each key the millionths used, -1 - used if refused, or 'O' for a value that decide must look at; then nothing
--        was taken from that key
-- TTL: until the bucket is full, rounded up, 1 ms longer
-- atomic: two checks that read before either writes would both take the last unit
--@include clock
--@include credit
local units, us, cost, full = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local match, format, floor, ceil, call, keys = string.match, string.format, math.floor, math.ceil, redis.call, KEYS
local values = call('MGET', unpack(keys))
local out, absent = { now }, 0
-- Redis writes numbers out with 17 digits, which takes it longer than format().
local state, room, ms = format('%%d:%d', now), full - cost, us / units / 1000
for k = 1, #keys do
  local value, used = values[k], 0
  if value then
    local stored, since = match(value, '^(%d+):(%d+)$')
    if stored then
      used = tonumber(stored)
      local elapsed = now - since
      if elapsed > 0 then
        local flowed = elapsed * units
        -- The product is exact below 2^53.
        if flowed <= 9007199254740991 then
          flowed = floor(flowed / us)
          if flowed >= used then used = 0 else used = used - flowed end
        else
          used = used - credit(elapsed, used, units, us)
        end
      elseif elapsed < 0 then
        used = nil
      end
    else
      used = nil
    end
  else
    absent = absent + 1
    values[k] = nil
  end
  if used == nil then
    out[k + 1] = 'O'
  elseif used <= room then
    used = used + cost
    out[k + 1] = used
  else
    out[k + 1] = -1 - used
  end
end
-- An absent key and a key of a foreign type read alike.
if absent > 0 then
  local names = {}
  for k = 1, #keys do
    if not values[k] then names[#names + 1] = keys[k] end
  end
  if call('EXISTS', unpack(names)) > 0 then
    for k = 1, #keys do
      if not values[k] and call('EXISTS', keys[k]) > 0 then out[k + 1] = 'O' end
    end
  end
end
for k = 1, #keys do
  local used = out[k + 1]
  if used ~= 'O' then
    if used > 0 then
      call('PSETEX', keys[k], format('%d', ceil(used * ms) + 2), format(state, used))
    elseif values[k] and call('PTTL', keys[k]) == -1 then
      -- A value that somebody left without a TTL gets one.
      call('PEXPIRE', keys[k], ceil((-1 - used) * ms) + 2)
    end
  end
end
return out
