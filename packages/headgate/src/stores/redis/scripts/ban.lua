-- ban: refuses keys for a while, or no longer.
-- KEYS: the state keys of one rule and key, one for each kind of limit
-- ARGV[1]: us from now; 0 lifts the ban
-- reply: 1
-- TTL: the state's, or the ban if that is longer
-- atomic: a check between read and write would lose the units that it took
--@include clock
--@include value
local us = tonumber(ARGV[1])
for _, key in ipairs(KEYS) do
  local value, state, till = redis.call('GET', key), '', 0
  if value then till, state = split_ban(value) end
  if not till then return redis.error_reply('FOREIGN a value that Headgate did not write') end
  local ms = 0
  if value then ms = math.max(redis.call('PTTL', key), 1) end
  if us > 0 then
    redis.call('PSETEX', key, math.max(ms, ttl_ms(us)), with_ban(now + us, state))
  elseif value and state ~= '' then
    redis.call('PSETEX', key, ms, state)
  elseif value then
    redis.call('DEL', key)
  end
end
return 1
