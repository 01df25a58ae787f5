-- meet: a process says on which keys it counts by itself, and learns how many others do.
-- KEYS: for each, those that count on it
-- ARGV[1]: the process's own id; ARGV[2]: us for which it counts
-- reply: {how many, ...}, one for each key
-- TTL: as long as the process counts; rounded up, 1 ms longer
-- atomic: two that come at once must see each other
--@include clock
local id, us = ARGV[1], tonumber(ARGV[2])
local before, till, ttl = string.format('%d', now), string.format('%d', now + us), string.format('%d', math.ceil(us / 1000) + 1)
local counts = {}
for k = 1, #KEYS do
  local key = KEYS[k]
  redis.call('ZREMRANGEBYSCORE', key, '-inf', before)
  redis.call('ZADD', key, till, id)
  redis.call('PEXPIRE', key, ttl)
  counts[k] = redis.call('ZCARD', key)
end
return counts
