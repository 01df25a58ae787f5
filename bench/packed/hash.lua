-- A hash for a pack of clients: field = the client's tag, value = 12 bytes.
local function sweep(key)
  local all, gone = call('HGETALL', key), {}
  for i = 1, #all, 2 do
    if left(unpack_state(STATE, all[i + 1])) == 0 then gone[#gone + 1] = all[i] end
  end
  if #gone > 0 then call('HDEL', key, unpack(gone)) end
end

for k = 1, count do
  local key, tag, used = keys[k], tag_of(k), 0
  local value = call('HGET', key, tag)
  if value then used = left(unpack_state(STATE, value)) end
  if used + cost <= full then
    used = used + cost
    out[k + 1] = used
    call('HSET', key, tag, pack_state(STATE, now, used))
    local ms = ttl(used)
    local longer = call('PTTL', key) < ms
    if longer then call('PEXPIRE', key, with_slack(ms)) end
    if longer or sweeps(k) then sweep(key) end
  else
    out[k + 1] = -1 - used
  end
end
return out
