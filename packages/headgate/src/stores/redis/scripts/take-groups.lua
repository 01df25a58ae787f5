-- take-groups: the hot path of several rules in one request: groups of plain checks, all of one shape, of buckets and fixed windows.
-- KEYS: the state keys, group by group, none twice
-- ARGV[1]: the shape, JSON, flat: for each check of a group five numbers: 1 (bucket), millionths that flow back, per us, cost and capacity
--          in millionths; or 2 (window), its length in us, 1 if it begins with the first request, cost, limit
-- reply: {now, ...}: for each check the millionths used, or the count and the window's end; the first number -1 - x if refused. For a
--        group with a value that decide must look at 'O' alone; then nothing was taken for it
-- TTL: until the bucket is full, or the window ends; rounded up, 1 ms longer
-- atomic: two groups that read before either writes would both take the last unit; a group would take a part
--@include clock
--@include pair
local shape = cjson.decode(ARGV[1])
local format, floor, ceil, call = string.format, math.floor, math.ceil, redis.call
local pack, unpack_pair = struct.pack, struct.unpack
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

-- The shape, check by check; read from locals, and no function called for a check, as each costs a tenth of a decision.
local kind, per, us, cost, most, pair = {}, {}, {}, {}, {}, {}
for c = 1, size do
  local s = c * 5
  kind[c], per[c], us[c], cost[c], most[c] = shape[s - 4], shape[s - 3], shape[s - 2], shape[s - 1], shape[s]
  pair[c] = most[c] < NARROW and PAIR or WIDE_PAIR
end

local out, o = { now }, 1
-- Of the group at hand: what is used, and since when; of a window, the count and its end.
local used, at = {}, {}
for g = 0, #keys - 1, size do
  local passes, odd = true, false
  for c = 1, size do
    local value, count, mark = values[g + c], 0, now
    if value then
      local length = #value
      if length == 12 then
        mark, count = unpack_pair(PAIR, value)
      elseif length == 14 then
        mark, count = unpack_pair(WIDE_PAIR, value)
      else
        odd = true
        break
      end
      if kind[c] == 1 then
        -- Text reads as a time far ahead.
        local elapsed = now - mark
        local flowed = elapsed * per[c]
        -- The product is exact below 2^53.
        if elapsed < 0 or flowed > 9007199254740991 then
          odd = true
          break
        end
        count, mark = count - floor(flowed / us[c]), now
        if count < 0 then count = 0 end
      end
    elseif foreign[g + c] then
      odd = true
      break
    end
    if kind[c] == 2 then
      local length, from_first = per[c], us[c] == 1
      local latest = from_first and now + length or (floor(now / length) + 1) * length
      if not value or mark <= now then
        count, mark = 0, latest
      elseif mark > latest then
        -- A window that was longer, or a clock that went back.
        odd = true
        break
      elseif not from_first then
        mark = latest
      end
    end
    if count + cost[c] > most[c] then passes = false end
    used[c], at[c] = count, mark
  end
  -- A value that somebody left without a TTL: decide gives it one.
  if not odd and not passes then
    for c = 1, size do
      if values[g + c] and call('PTTL', keys[g + c]) == -1 then odd = true end
    end
  end
  if odd then
    o = o + 1
    out[o] = 'O'
  else
    for c = 1, size do
      local view = used[c]
      if passes then
        view = view + cost[c]
        local lasts = kind[c] == 1 and view * us[c] / per[c] + 1 or at[c] - now
        call('PSETEX', keys[g + c], format('%d', ceil(lasts / 1000) + 1), pack(pair[c], at[c], view))
      elseif view + cost[c] > most[c] then
        view = -1 - view
      end
      o = o + 1
      out[o] = view
      if kind[c] == 2 then
        o = o + 1
        out[o] = at[c]
      end
    end
  end
end
return out
