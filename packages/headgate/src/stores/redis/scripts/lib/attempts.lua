-- Attempts in a row: a pair of when the last one began and how many there are, then when the first one began.
local function pack_attempts(count, last, first) return pack_pair(last, count) .. struct.pack('>I7', first) end

-- Nil for what is none.
local function unpack_attempts(state)
  if #state ~= 19 then return nil end
  local last, count = unpack_pair(sub(state, 1, 12))
  if not last then return nil end
  return count, last, (struct.unpack('>I7', state, 13))
end
