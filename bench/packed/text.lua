-- A key for each client, its value `used:at`, as in the product's first layout.
local match = string.match
local values = call('MGET', unpack(keys))
local state = format('%%d:%d', now)
for k = 1, count do
  local used, value = 0, values[k]
  if value then
    local stored, at = match(value, '^(%d+):(%d+)$')
    used = left(at, stored)
  end
  if used + cost <= full then
    used = used + cost
    out[k + 1] = used
    call('PSETEX', keys[k], format('%d', ttl(used)), format(state, used))
  else
    out[k + 1] = -1 - used
  end
end
return out
