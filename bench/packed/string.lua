-- A string for a pack of clients: records of 6 bytes of tag and 12 of state. Each write makes it anew without the buckets that are full,
-- so its TTL is exact.
local values, packs, formats = call('MGET', unpack(keys)), {}, {}
local find, rep, concat = string.find, string.rep, table.concat

-- Where a client's record begins; a match may also lie across two records.
local function record_of(value, tag)
  local at = find(value, tag, 1, true)
  while at and at % 18 ~= 1 do at = find(value, tag, at + 1, true) end
  return at
end

-- at, used, at, used, ... of all records.
local function states_of(value)
  local n = #value / 18
  local form = formats[n]
  if not form then
    form = '>' .. rep('xxxxxxI7I5', n)
    formats[n] = form
  end
  return { unpack_state(form, value) }, n
end

for k = 1, count do
  local key, tag, used = keys[k], tag_of(k), 0
  local value = packs[key] or values[k] or ''
  local mine = record_of(value, tag)
  if mine then
    used = left(unpack_state(STATE, value, mine + 6))
    value = sub(value, 1, mine - 1) .. sub(value, mine + 18)
  end
  if used + cost <= full then
    used = used + cost
    out[k + 1] = used
    local states, n = states_of(value)
    local dropped, latest = false, used * us
    for i = 1, 2 * n, 2 do
      -- Until it is full, times `units`: so nothing is divided for each.
      local rest = states[i + 1] * us - (now - states[i]) * units
      if rest > latest then latest = rest end
      if rest <= 0 then dropped = true end
    end
    if dropped then
      local kept = {}
      for i = 1, n do
        if left(states[2 * i - 1], states[2 * i]) > 0 then kept[#kept + 1] = sub(value, 18 * i - 17, 18 * i) end
      end
      value = concat(kept)
    end
    value = value .. tag .. pack_state(STATE, now, used)
    packs[key] = value
    call('PSETEX', key, format('%d', ceil(latest / units / 1000) + 2), value)
  else
    out[k + 1] = -1 - used
  end
end
return out
