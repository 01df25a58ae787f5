-- take-groups: the hot path of several rules in one request: groups of plain checks, all of one shape, of buckets and fixed windows.
-- KEYS: the state keys, group by group, none twice
-- ARGV[1]: the shape, JSON, flat: for each check of a group five numbers: 1 (bucket), millionths that flow back, per us, cost and capacity
--          in millionths; or 2 (window), its length in us, 1 if it begins with the first request, cost, limit
-- reply: {now, ...}: for each check the millionths used, or the count and the window's end; the first number -1 - x if refused. For a
--        group with a value that decide must look at 'O' alone; then nothing was taken for it
-- TTL: until the bucket is full, or the window ends; rounded up, 1 ms longer
-- atomic: two groups that read before either writes would both take the last unit; a group would take a part
--@include clock
local shape = cjson.decode(ARGV[1])
local match, format, floor, ceil, call = string.match, string.format, math.floor, math.ceil, redis.call
local keys, values = KEYS, redis.call('MGET', unpack(KEYS))
local size = #shape / 5

-- An absent key and a key of a foreign type read alike.
local foreign = {}
do
  local absent = {}
  for k = 1, #keys do
    if not values[k] then absent[#absent + 1] = keys[k] end
  end
  if #absent > 0 and call('EXISTS', unpack(absent)) > 0 then
    for k = 1, #keys do foreign[k] = not values[k] and call('EXISTS', keys[k]) > 0 end
  end
end

-- What is used of key k, and of a window its end; nil for what decide must look at.
local function read(k, s)
  local value, count, at = values[k], 0, 0
  if value then
    local first, second = match(value, '^(%d+):(%d+)$')
    if not first then return nil end
    count, at = tonumber(first), tonumber(second)
  elseif foreign[k] then
    return nil
  end
  if shape[s] == 1 then
    if count == 0 then return 0, now end
    local elapsed = now - at
    local flowed = elapsed * shape[s + 1]
    -- The product is exact below 2^53.
    if elapsed < 0 or flowed > 9007199254740991 then return nil end
    local used = count - floor(flowed / shape[s + 2])
    if used < 0 then used = 0 end
    return used, now
  end
  local length, latest = shape[s + 1], nil
  if shape[s + 2] == 1 then latest = now + length else latest = (floor(now / length) + 1) * length end
  if at <= now then return 0, latest end
  -- A window that was longer, or a clock that went back.
  if at > latest then return nil end
  if shape[s + 2] == 1 then return count, at end
  return count, latest
end

local out, o = { now }, 1
local used, till = {}, {}
for g = 1, #keys, size do
  local passes, odd = true, false
  for c = 0, size - 1 do
    local k, s = g + c, c * 5 + 1
    used[k], till[k] = read(k, s)
    if not used[k] then
      odd = true
      break
    end
    if used[k] + shape[s + 3] > shape[s + 4] then passes = false end
  end
  -- A value that somebody left without a TTL: decide gives it one.
  if not odd and not passes then
    for k = g, g + size - 1 do
      if values[k] and call('PTTL', keys[k]) == -1 then odd = true end
    end
  end
  if odd then
    o = o + 1
    out[o] = 'O'
  else
    for c = 0, size - 1 do
      local k, s = g + c, c * 5 + 1
      local now_used, cost = used[k], shape[s + 3]
      local view = now_used
      if passes then
        view = now_used + cost
        local us
        if shape[s] == 1 then us = view * shape[s + 2] / shape[s + 1] + 1 else us = till[k] - now end
        call('PSETEX', keys[k], format('%d', ceil(us / 1000) + 1), format('%d:%d', view, till[k]))
      elseif now_used + cost > shape[s + 4] then
        view = -1 - now_used
      end
      o = o + 1
      out[o] = view
      if shape[s] == 2 then
        o = o + 1
        out[o] = till[k]
      end
    end
  end
end
return out
