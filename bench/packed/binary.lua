-- A key for each client, its value 12 bytes.
local values = call('MGET', unpack(keys))
for k = 1, count do
  local used, value = 0, values[k]
  if value then used = left(unpack_state(STATE, value)) end
  if used + cost <= full then
    used = used + cost
    out[k + 1] = used
    call('PSETEX', keys[k], format('%d', ttl(used)), pack_state(STATE, now, used))
  else
    out[k + 1] = -1 - used
  end
end
return out
