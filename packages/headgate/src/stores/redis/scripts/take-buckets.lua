-- take-buckets: the hot path under load: many checks of token buckets that differ only in their key.
-- KEYS: the state keys, none twice
-- ARGV[1]: millionths that flow back, per ARGV[2]: us; ARGV[3]: cost in millionths; ARGV[4]: capacity in millionths
-- reply: text: now, then for each key the millionths used, -1 - used if refused, 'B<end>' for a ban, or 'O' for a value that decide
--        must look at, then nothing was taken from that key; a space after each. A client reads one text in less time than 65 integers
-- TTL: until the bucket is full, rounded up, 1 ms longer
-- atomic: two checks that read before either writes would both take the last unit
--@include clock
--@include bucket
local keys = KEYS
local values = call('MGET', unpack(keys))
local out, absent, worded = { now }, {}, false
for k = 1, #keys do
  local value = values[k]
  if value then
    local used, till = used_now(value)
    if used and used + cost <= full then
      used = used + cost
      out[k + 1] = used
      call('PSETEX', keys[k], ttl(used), pack(layout, now, used))
    -- A value that somebody left without a TTL: decide gives it one.
    elseif not used and not till or call('PTTL', keys[k]) == -1 then
      out[k + 1], worded = 'O', true
    elseif till then
      out[k + 1], worded = 'B' .. till, true
    else
      out[k + 1] = -1 - used
    end
  else
    absent[#absent + 1] = k
  end
end
if #absent > 0 then
  -- An absent key and a key of a foreign type read alike.
  local names, foreign = {}, {}
  for i = 1, #absent do names[i] = keys[absent[i]] end
  if call('EXISTS', unpack(names)) > 0 then
    for i = 1, #names do foreign[i] = call('EXISTS', names[i]) > 0 end
  end
  for i = 1, #names do
    local answer = cost
    if foreign[i] then
      answer, worded = 'O', true
    elseif cost > full then
      answer = -1
    else
      call('PSETEX', names[i], ttl(cost), pack(layout, now, cost))
    end
    out[absent[i] + 1] = answer
  end
end
if worded then
  for i = 1, #out do
    if type(out[i]) == 'number' then out[i] = format('%d', out[i]) end
  end
end
return format(string.rep(worded and '%s ' or '%d ', #out), unpack(out))
