-- A key for each client, its value the microsecond at which the bucket is full again (GCRA), which Redis keeps as an integer.
-- Rounded up to whole microseconds, so not exact where a unit's time is none.
local values = call('MGET', unpack(keys))
local step, most = ceil(cost * us / units), floor(full * us / units)
for k = 1, count do
  local ahead = (tonumber(values[k] or 0)) - now
  if ahead < 0 then ahead = 0 end
  if ahead + step <= most then
    ahead = ahead + step
    out[k + 1] = floor(ahead * units / us)
    call('PSETEX', keys[k], format('%d', ceil(ahead / 1000) + 2), format('%d', now + ahead))
  else
    out[k + 1] = -1 - floor(ahead * units / us)
  end
end
return out
