-- take-bucket: the hot path of a server that is not busy: one check of one token bucket.
-- KEYS[1]: the state key
-- ARGV[1]: millionths that flow back, per ARGV[2]: us; ARGV[3]: cost in millionths; ARGV[4]: capacity in millionths
-- reply: text: 'now used', in millionths, with used as -1 - used if refused; or 'now B<end>' for a ban; or 'O' for a value that decide
--        must look at; then nothing was taken
-- TTL: until the bucket is full, rounded up, 1 ms longer
-- atomic: two checks that read before either writes would both take the last unit
--@include clock
--@include bucket
local key = KEYS[1]
-- A key of a foreign type is an error, which reads as no bucket.
local value = redis.pcall('GET', key)
local used, till = 0, nil
if value then
  if type(value) == 'table' then return 'O' end
  used, till = used_now(value)
end
if used and used + cost <= full then
  used = used + cost
  call('PSETEX', key, ttl(used), pack(layout, now, used))
  return format('%d %d', now, used)
end
-- A value that somebody left without a TTL: decide gives it one.
if not used and not till or value and call('PTTL', key) == -1 then return 'O' end
if till then return format('%d B%s', now, till) end
return format('%d %d', now, -1 - used)
