-- ban: refuses keys for a while, or no longer.
-- KEYS: the state keys of one rule and key, one for each kind of limit
-- ARGV[1]: us from now; 0 lifts the ban
-- reply: 1
-- TTL: the state's, or the ban if that is longer
-- atomic: a check between read and write would lose the units that it took
--@include clock
--@include value
local us = tonumber(ARGV[1])
-- Ten years: no limit remembers longer.
local LONGEST_MS = 315576000000
for _, key in ipairs(KEYS) do
  local value, state, till = redis.call('GET', key), '', 0
  if value then till, state = split_ban(value) end
  if not till then return redis.error_reply('FOREIGN a value that Headgate did not write') end
  local ms = value and redis.call('PTTL', key) or 0
  -- Somebody took its TTL away, and only a check knows the limit: long enough for any, until the next check that passes.
  if ms == -1 and state ~= '' then ms = LONGEST_MS end
  if us > 0 then
    redis.call('PSETEX', key, math.max(ms, ttl_ms(us)), with_ban(now + us, state))
  elseif value and state ~= '' then
    redis.call('PSETEX', key, math.max(ms, 1), state)
  elseif value then
    redis.call('DEL', key)
  end
end
return 1
