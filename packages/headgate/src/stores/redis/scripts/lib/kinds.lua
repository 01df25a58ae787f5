-- The arithmetic of each kind of limit; twins of algorithms/*.ts. `now` is the clock, lib/credit and lib/value come before.
local THREE = '^(%d+):(%d+):(%d+)$'
local MOST = 100000000000000

-- load(state): the parts of a stored state, nil if foreign; state is '' where there is none
-- current(a, b, c, limit): brought to now
-- overreaches(a, b, c, limit): further than this limit ever would (the clock went back, the window was shortened)
-- take(a, b, c, limit, cost, least): allowed, taken, new parts
-- view(refused, a, b, c, limit, cost): its numbers, put on the reply
-- print(a, b, c, limit): value, TTL in us
local out, o = { now }, 1

local function put(first, refused)
  o = o + 1
  if refused then out[o] = -1 - first else out[o] = first end
end

local function fit(free, cost, least)
  if cost <= free then return cost end
  if least > 0 and least <= free then return free end
  return 0
end

local function counting(limit) return limit[2] % 2 == 1 end

-- Only the kinds that a call needs are made: a script's functions are made anew in every call.
local makers, made = {}, {}
local function kind_of(number)
  local kind = made[number]
  if not kind then
    kind = makers[number]()
    made[number] = kind
  end
  return kind
end

makers[1] = function()
  local bucket = {}
  function bucket.load(state)
    if state == '' then return 0, now end
    local at, used = unpack_pair(state)
    return used, at
  end
  function bucket.current(used, at, _, limit)
    local elapsed = now - at
    if elapsed <= 0 or used == 0 then return used, now end
    return used - credit(elapsed, used, limit[3], limit[4]), now
  end
  function bucket.overreaches(_, at) return at > now end
  function bucket.take(used, at, _, limit, cost, least)
    local need = cost * 1000000
    if least == cost then
      if cost <= limit[5] and need <= limit[6] - used then return true, cost, used + need, at end
    elseif least == 0 then
      return true, cost, math.max(used, math.min(used + need, limit[7])), at
    else
      local taken = fit(floor((limit[6] - used) / 1000000), cost, least)
      if taken > 0 then return true, taken, used + taken * 1000000, at end
    end
    if counting(limit) then return false, 0, math.max(used, math.min(used + need, limit[8])), at end
    return false, 0, used, at
  end
  function bucket.view(refused, used) put(used, refused) end
  function bucket.print(used, at, _, limit)
    return pack_pair(at, used), used * limit[4] / limit[3] + 1
  end
  return bucket
end

makers[2] = function()
  local window = {}
  function window.load(state)
    if state == '' then return 0, 0 end
    local till, count = unpack_pair(state)
    return count, till
  end
  function window.current(count, till, _, limit)
    local w = limit[4]
    if limit[5] == 1 then
      local latest = now + w
      if till <= now then return 0, latest end
      if till < latest then return count, till end
      return count, latest
    end
    local current_end = (floor(now / w) + 1) * w
    if till <= now then return 0, current_end end
    return count, current_end
  end
  function window.overreaches(count, till, _, limit)
    local _, current_end = window.current(0, 0, nil, limit)
    return till > current_end
  end
  function window.take(count, till, _, limit, cost, least)
    local taken = cost
    if least ~= 0 then taken = fit(limit[3] - count, cost, least) end
    if taken > 0 then return true, taken, math.min(count + taken, MOST), till end
    if counting(limit) then count = math.min(count + cost, MOST) end
    return false, 0, count, till
  end
  function window.view(refused, count, till)
    put(count, refused)
    put(till)
  end
  function window.print(count, till) return pack_pair(till, count), till - now end
  return window
end

makers[5] = function()
  local window = kind_of(2)
  local quota
  quota = { load = window.load, take = window.take, view = window.view, print = window.print }
  function quota.current(count, till, _, limit)
    local current_end = limit[6]
    if now < limit[5] then current_end = limit[5] elseif now >= limit[6] then current_end = limit[7] end
    if till <= now then return 0, current_end end
    return count, current_end
  end
  function quota.overreaches(_, till, _, limit)
    local _, current_end = quota.current(0, 0, nil, limit)
    return till > current_end
  end
  return quota
end

makers[3] = function()
  local sliding = {}
  function sliding.load(state)
    local current, previous, till = match(state, THREE)
    if current then return tonumber(current), tonumber(previous), tonumber(till) end
    if state == '' then return 0, 0, 0 end
  end
  function sliding.current(current, previous, till, limit)
    local w = limit[4]
    local current_end = (floor(now / w) + 1) * w
    if till <= current_end - 2 * w then return 0, 0, current_end end
    if till > now then return current, previous, current_end end
    return 0, current, current_end
  end
  function sliding.overreaches(_, _, till, limit) return till > (floor(now / limit[4]) + 1) * limit[4] end
  function sliding.take(current, previous, till, limit, cost, least)
    local taken = cost
    if least ~= 0 then
      local used = current
      if previous > 0 then used = used + div_ceil(till - now, previous, limit[4]) end
      taken = fit(limit[3] - used, cost, least)
    end
    if taken > 0 then return true, taken, math.min(current + taken, MOST), previous, till end
    if counting(limit) then current = math.min(current + cost, MOST) end
    return false, 0, current, previous, till
  end
  function sliding.view(refused, current, previous)
    put(current, refused)
    put(previous)
  end
  function sliding.print(current, previous, till, limit)
    return format('%d:%d:%d', current, previous, till), till + limit[4] - now
  end
  return sliding
end

makers[4] = function()
  -- A log's parts: its total, and its records oldest first.
  local log = {}
  local function record(records, i) return unpack_record(LOG_RECORD, records, (i - 1) * LOG_SIZE + 1) end
  function log.load(state)
    if state == '' then return 0, '' end
    if byte(state) ~= 76 or (#state - 8) % LOG_SIZE ~= 0 then return nil end
    return unpack_record(LOG_HEAD, state, 2), sub(state, 9)
  end
  function log.current(total, records, _, limit)
    local n, first = #records / LOG_SIZE, 1
    if n > 0 and record(records, n) > now then
      -- The clock went back: what lies in the future happened now.
      local parts = {}
      for i = 1, n do
        local at, cost = record(records, i)
        parts[i] = pack(LOG_RECORD, math.min(at, now), cost)
      end
      records = table.concat(parts)
    end
    while first <= n do
      local at, cost = record(records, first)
      if at + limit[4] > now then break end
      total = total - cost
      first = first + 1
    end
    if first == 1 then return total, records end
    return total, sub(records, (first - 1) * LOG_SIZE + 1)
  end
  function log.overreaches(_, records)
    local n = #records / LOG_SIZE
    return n > 0 and record(records, n) > now
  end
  local function add(total, records, units, limit)
    records = records .. pack(LOG_RECORD, now, units)
    total = total + units
    local n, first = #records / LOG_SIZE, 1
    while first < n and total > limit[3] do
      local _, cost = record(records, first)
      if total - cost < limit[3] then break end
      total = total - cost
      first = first + 1
    end
    return total, sub(records, (first - 1) * LOG_SIZE + 1)
  end
  function log.take(total, records, _, limit, cost, least)
    local taken = cost
    if least ~= 0 then taken = fit(limit[3] - total, cost, least) end
    if taken > 0 then return true, taken, add(total, records, taken, limit) end
    if counting(limit) and limit[3] > 0 then return false, 0, add(total, records, cost, limit) end
    return false, 0, total, records
  end
  function log.view(refused, total, records, _, limit, cost)
    local n, passes, left = #records / LOG_SIZE, 0, total
    local i = 1
    while left + cost > limit[3] and i <= n do
      local at, units = record(records, i)
      left = left - units
      if left + cost <= limit[3] then passes = at + limit[4] end
      i = i + 1
    end
    put(total, refused)
    put(passes)
    put(n > 0 and record(records, n) or 0)
  end
  function log.print(total, records, _, limit)
    if records == '' then return nil end
    local last = record(records, #records / LOG_SIZE)
    return 'L' .. pack(LOG_HEAD, total) .. records, last + limit[4] - now
  end
  return log
end

makers[6] = function()
  -- A concurrency limit's part: its holders, each {id, until, cost}; never changed in place.
  local concurrency = {}
  function concurrency.load(state)
    if state == '' then return {} end
    if byte(state) ~= 67 then return nil end
    return parse_holders(state)
  end
  local function held(holders)
    local total = 0
    for _, h in ipairs(holders) do total = total + h[3] end
    return total
  end
  function concurrency.current(holders, _, _, limit)
    local live, latest = {}, now + limit[4]
    for _, h in ipairs(holders) do
      if h[2] > latest then h = { h[1], latest, h[3] } end
      if h[2] > now then live[#live + 1] = h end
    end
    return live
  end
  function concurrency.overreaches(holders, _, _, limit)
    for _, h in ipairs(holders) do
      if h[2] > now + limit[4] then return true end
    end
    return false
  end
  function concurrency.take(holders, _, _, limit, cost, id)
    if held(holders) + cost > limit[3] then return false, 0, holders end
    local more = {}
    for i, h in ipairs(holders) do more[i] = h end
    more[#more + 1] = { id, now + limit[4], cost }
    return true, cost, more
  end
  function concurrency.view(refused, holders, _, _, limit, cost)
    local left, passes, last, sorted = held(holders), 0, 0, {}
    for i, h in ipairs(holders) do
      sorted[i] = h
      if h[2] > last then last = h[2] end
    end
    put(left, refused)
    if left + cost > limit[3] then
      table.sort(sorted, function(x, y) return x[2] < y[2] end)
      for _, h in ipairs(sorted) do
        left = left - h[3]
        if left + cost <= limit[3] then
          passes = h[2]
          break
        end
      end
    end
    put(passes)
    put(last)
  end
  function concurrency.print(holders)
    local value, last = print_holders(holders)
    return value, last - now
  end
  return concurrency
end

makers[7] = function()
--@include attempts
  local failures = {}
  function failures.load(state)
    if state == '' then return 0, now, now end
    return unpack_attempts(state)
  end
  function failures.current(count, last, first, limit)
    if count == 0 or last + limit[7] <= now then return 0, now, now end
    if last > now then return count, now, math.min(first, now) end
    return count, last, first
  end
  function failures.overreaches(_, last) return last > now end
  local function open(count, last, limit)
    local left, unpaid = math.max(0, limit[3] - count), limit[4] - count
    if unpaid >= 0 then return math.min(left, unpaid + 1) end
    if now < last + math.min(limit[6], limit[5] * 2 ^ (-unpaid - 1)) then return 0 end
    return math.min(left, 1)
  end
  function failures.take(count, last, first, limit, cost, least)
    local taken = cost
    if least ~= 0 then taken = fit(open(count, last, limit), cost, least) end
    if taken == 0 then return false, 0, count, last, first end
    return true, taken, math.min(count + taken, 1000000), now, first
  end
  function failures.view(refused, count, last)
    put(count, refused)
    put(last)
  end
  function failures.print(count, last, first, limit)
    return pack_attempts(count, last, first), count > 0 and last + limit[7] - now or 0
  end
  return failures
end
