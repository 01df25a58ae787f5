-- A key's value: its state, after '!<end of ban>!' while the key is banned.
--   bucket   pair of at and used, in millionths    window, quota  pair of end and count
--   sliding  <current>:<previous>:<end>            log            L<total><records of at, cost>
--   concurrency  C<id>:<until>:<cost>,...          attempts       pair of last and count, and first in 7 bytes
--   banned only  nothing
local match, format, byte, sub = string.match, string.format, string.byte, string.sub

-- A pair is packed, as most states are one and Redis gives 12 bytes the smallest room it has. The time comes first: it is below 2^53, so
-- no text, no ban and no other state begins like it.
--@include pair

local function pack_pair(time, number)
  return struct.pack(number < NARROW and PAIR or WIDE_PAIR, time, number)
end

-- Nil for what is no pair.
local function unpack_pair(state)
  local size = #state
  if size ~= 12 and size ~= 14 or byte(state) > 31 then return nil end
  return struct.unpack(size == 12 and PAIR or WIDE_PAIR, state)
end

local function split_ban(value)
  if byte(value) ~= 33 then return 0, value end
  local till, state = match(value, '^!(%d+)!(.*)$')
  if not till then return nil end
  return tonumber(till), state
end

local function with_ban(till, state)
  if till > now then return format('!%d!', till) .. state end
  return state
end

-- Redis drops a key up to 1 ms early by this clock, so a TTL is rounded up and one longer.
local function ttl_ms(us)
  return math.ceil(us / 1000) + 1
end

local LOG_HEAD, LOG_RECORD, LOG_SIZE = '>I7', '>I7I5', 12

local function parse_holders(state)
  local holders = {}
  for id, till, cost in string.gmatch(sub(state, 2), '([^:,]+):(%d+):(%d+),') do
    holders[#holders + 1] = { id, tonumber(till), tonumber(cost) }
  end
  return holders
end

local function print_holders(holders)
  local parts, last = {}, 0
  for i, h in ipairs(holders) do
    parts[i] = format('%s:%d:%d,', h[1], h[2], h[3])
    if h[2] > last then last = h[2] end
  end
  return 'C' .. table.concat(parts), last
end
