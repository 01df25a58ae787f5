-- reset: forgets the counters of keys; a ban stays.
-- KEYS: the state keys of one rule and key, one for each kind of limit
-- reply: 1
-- TTL: the ban's
-- atomic: a ban set between read and delete would be lifted
--@include clock
--@include value
for _, key in ipairs(KEYS) do
  local value, till = redis.call('GET', key), 0
  if value then till = split_ban(value) end
  if not till then return redis.error_reply('FOREIGN a value that Headgate did not write') end
  if till > now then
    redis.call('PSETEX', key, ttl_ms(till - now), with_ban(till, ''))
  else
    redis.call('DEL', key)
  end
end
return 1
