-- extend: prolongs a concurrency holder from now.
-- KEYS[1]: the state key
-- ARGV[1]: the holder; ARGV[2]: by how many us
-- reply: 1 if it still held, else 0
-- TTL: until the last holder expires, or the ban if that is longer
-- atomic: a holder that another process releases meanwhile would be written back
--@include clock
--@include value
local value = redis.call('GET', KEYS[1])
if not value then return 0 end
local till, state = split_ban(value)
if not till or byte(state) ~= 67 then return 0 end
local found, live = 0, {}
for _, h in ipairs(parse_holders(state)) do
  if h[2] > now then
    if h[1] == ARGV[1] then
      h[2] = now + tonumber(ARGV[2])
      found = 1
    end
    live[#live + 1] = h
  end
end
if found == 0 then return 0 end
local after, last = print_holders(live)
redis.call('PSETEX', KEYS[1], ttl_ms(math.max(last, till) - now), with_ban(till, after))
return 1
