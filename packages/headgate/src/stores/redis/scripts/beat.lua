-- beat: a process says that it is there, and counts those that are.
-- KEYS[1]: everybody; KEYS[2]: those that spread keys as it does
-- ARGV[1]: the process's own id; ARGV[2]: us for which it counts; 0: it leaves
-- reply: {all, those that spread keys as it does}
-- TTL: as long as the process counts; rounded up, 1 ms longer
-- atomic: one that leaves between two counts would make a stranger
--@include clock
local id, us = ARGV[1], tonumber(ARGV[2])
local counts = {}
for k = 1, 2 do
  local key = KEYS[k]
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%d', now))
  if us > 0 then
    redis.call('ZADD', key, string.format('%d', now + us), id)
    redis.call('PEXPIRE', key, math.ceil(us / 1000) + 1)
  else
    redis.call('ZREM', key, id)
  end
  counts[k] = redis.call('ZCARD', key)
end
return counts
