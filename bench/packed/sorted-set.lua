-- A sorted set for a pack of clients: member = the client's tag, score = the microsecond at which its bucket is full again (GCRA), so that
-- Redis finds those that are full by itself and each check can sweep. Rounded up to whole microseconds: not exact where a unit's time is none.
local step, most = ceil(cost * us / units), floor(full * us / units)
local now_text = format('%d', now)
for k = 1, count do
  local key, tag = keys[k], tag_of(k)
  local ahead = (tonumber(call('ZSCORE', key, tag) or 0)) - now
  if ahead < 0 then ahead = 0 end
  if ahead + step <= most then
    ahead = ahead + step
    out[k + 1] = floor(ahead * units / us)
    call('ZADD', key, format('%d', now + ahead), tag)
    local ms = ceil(ahead / 1000) + 2
    if call('PTTL', key) < ms then call('PEXPIRE', key, with_slack(ms)) end
    call('ZREMRANGEBYSCORE', key, '0', now_text)
  else
    out[k + 1] = -1 - floor(ahead * units / us)
  end
end
return out
