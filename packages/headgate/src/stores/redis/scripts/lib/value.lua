-- A key's value: its state, after '!<end of ban>!' while the key is banned.
--   bucket   <used, millionths>:<at>          window, quota  <count>:<end>
--   sliding  <current>:<previous>:<end>       log            L<total><records of at, cost>
--   concurrency  C<id>:<until>:<cost>,...     banned only    nothing
local match, format, byte, sub = string.match, string.format, string.byte, string.sub

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
