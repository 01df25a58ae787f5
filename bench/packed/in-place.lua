-- A string for a pack of clients: 6 bytes of the millisecond it expires at, then records of 6 bytes of tag and 12 of state. A check writes
-- its client's state in place; the whole is only written anew to add a client, to make the TTL longer, or to sweep.
local values, packs, last = call('MGET', unpack(keys)), {}, {}
for k = 1, count do last[keys[k]] = k end
local find, concat = string.find, table.concat
local now_ms = floor(now / 1000)

-- Where a client's state begins; a match may also lie across two records.
local function state_of(value, tag)
  local at = find(value, tag, 7, true)
  while at and at % 18 ~= 7 do at = find(value, tag, at + 1, true) end
  return at and at + 6
end

-- The records without those that are full.
local function swept(value)
  local kept = {}
  for i = 7, #value, 18 do
    if left(unpack_state(STATE, value, i + 6)) > 0 then kept[#kept + 1] = sub(value, i, i + 17) end
  end
  return concat(kept)
end

for k = 1, count do
  local key, tag, used = keys[k], tag_of(k), 0
  local value = packs[key] or values[k] or '\0\0\0\0\0\0'
  local at = state_of(value, tag)
  if at then used = left(unpack_state(STATE, value, at)) end
  if used + cost <= full then
    used = used + cost
    out[k + 1] = used
    local state, ends, ms = pack_state(STATE, now, used), unpack_state('>I6', value), ttl(used)
    local longer = now_ms + ms > ends
    local sweep = longer or sweeps(k)
    local in_place = at and not sweep
    if not at then
      value = value .. tag .. state
    elseif not in_place or last[key] > k then
      value = sub(value, 1, at - 1) .. state .. sub(value, at + 12)
    end
    if in_place then
      call('SETRANGE', key, at - 1, state)
    else
      if longer then ends = now_ms + floor(ms * 1.25) end
      value = pack_state('>I6', ends) .. (sweep and swept(value) or sub(value, 7))
      call('PSETEX', key, format('%d', ends - now_ms), value)
    end
    packs[key] = value
  else
    out[k + 1] = -1 - used
  end
end
return out
