-- decide: decides a batch of groups; each group takes all it asks for, or nothing.
-- KEYS: the state keys of the batch; no key twice where ARGV[3] is above 0
-- ARGV[1]: limits, JSON: [[kind, flags, ...numbers], ...]; flags: 1 counts refused requests, 2 shadow
-- ARGV[2]: plan, JSON, flat: for each group its size (negative: look only), then for each check key, limit, cost, least or holder
-- ARGV[3]: 0, or how many keys the plan covers: it is then repeated over all KEYS
-- reply: {now, ...}: for each check its view (first number -1 - x if refused), then the units taken where least < cost;
--        or one string: 'B<end>' banned, 'T' borders stale, 'E' a value that Headgate did not write
-- TTL: what the state needs to be worth no more than an absent key, and the ban if that is longer; rounded up, 1 ms longer
-- atomic: two checks that read before either writes would both take the last unit; a group would take a part
--@include clock
--@include credit
--@include value
local limits = cjson.decode(ARGV[1])
local plan = cjson.decode(ARGV[2])
local period = tonumber(ARGV[3])
local pack, unpack_record = struct.pack, struct.unpack

local values = redis.call('MGET', unpack(KEYS))
-- An absent key and a key of a foreign type read alike.
local foreign = {}
do
  local absent = {}
  for k = 1, #KEYS do
    if not values[k] then absent[#absent + 1] = k end
  end
  if #absent > 0 then
    local names = {}
    for i, k in ipairs(absent) do names[i] = KEYS[k] end
    if redis.call('EXISTS', unpack(names)) > 0 then
      for _, k in ipairs(absent) do foreign[k] = redis.call('EXISTS', KEYS[k]) > 0 end
    end
  end
end

-- The states as they stand within this call: A, B, C are a kind's two or three parts; nil before first use.
local A, B, C, bans = {}, {}, {}, {}
local kinds, written, looked = {}, {}, {}

local TWO, THREE = '^(%d+):(%d+)$', '^(%d+):(%d+):(%d+)$'
local MOST = 100000000000000

-- load(state): the parts of a stored state, nil if foreign; state is '' where there is none
-- current(a, b, c, limit): brought to now
-- overreaches(a, b, c, limit): further than this limit ever would (the clock went back, the window was shortened)
-- take(a, b, c, limit, cost, least): allowed, taken, new parts
-- view(o, sign, a, b, c, limit, cost): appended to the reply from o on
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
    local used, at = match(state, TWO)
    if used then return tonumber(used), tonumber(at) end
    if state == '' then return 0, now end
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
    return format('%d:%d', used, at), used * limit[4] / limit[3] + 1
  end
  return bucket
end

makers[2] = function()
  local window = {}
  function window.load(state)
    local count, till = match(state, TWO)
    if count then return tonumber(count), tonumber(till) end
    if state == '' then return 0, 0 end
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
  function window.print(count, till) return format('%d:%d', count, till), till - now end
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

-- The state of key k, read on first use. Nil if it is not ours.
local function load(k, kind)
  if foreign[k] then return nil end
  local value = values[k]
  local till, state = 0, ''
  if value then till, state = split_ban(value) end
  if not till then return nil end
  local a, b, c = kind.load(state)
  if a == nil then return nil end
  A[k], B[k], C[k], bans[k], kinds[k] = a, b, c, till, kind
  return a
end

-- A state that a refused check read: cut where it overreaches, else it would be cut anew each time and never end.
local function look(k, kind, limit)
  looked[k] = limit
  if kind.overreaches(A[k], B[k], C[k], limit) then
    A[k], B[k], C[k] = kind.current(A[k], B[k], C[k], limit)
    written[k] = limit
  end
end

-- One check: true, false, or the string that answers it. Takes into A, B, C unless dry.
local function check(p, base, dry)
  local k, limit = plan[p] + base, limits[plan[p + 1]]
  local kind = kind_of(limit[1])
  if A[k] == nil and load(k, kind) == nil then return 'E' end
  if bans[k] > now then
    looked[k] = limit
    return 'B'
  end
  if limit[1] == 5 and (now < limit[4] or now >= limit[7]) then return 'T' end
  local a, b, c = kind.current(A[k], B[k], C[k], limit)
  local allowed, taken
  allowed, taken, a, b, c = kind.take(a, b, c, limit, plan[p + 2], plan[p + 3])
  if allowed or counting(limit) then
    A[k], B[k], C[k], written[k] = a, b, c, limit
  elseif not dry then
    look(k, kind, limit)
  end
  return allowed, taken
end

-- A check's answer from the state as it stands now; `together`: the cost with that of earlier checks of its key in the group.
local function answer(p, base, verdict, taken, together)
  local k, limit = plan[p] + base, limits[plan[p + 1]]
  if verdict == 'B' then
    o = o + 1
    out[o] = format('B%d', bans[k])
  elseif verdict == 'E' or verdict == 'T' then
    o = o + 1
    out[o] = verdict
  else
    local kind = kind_of(limit[1])
    local a, b, c = kind.current(A[k], B[k], C[k], limit)
    local cost, least = plan[p + 2], plan[p + 3]
    kind.view(not verdict, a, b, c, limit, together)
    if limit[1] ~= 6 and least > 0 and least < cost then put(taken) end
  end
end

-- The hot path: one check.
local function single(p, base)
  local verdict, taken = check(p, base, false)
  answer(p, base, verdict, taken, plan[p + 2])
end

local function several(p, base, size, dry)
  local verdicts, takens, costs, togethers, undo, all, void = {}, {}, {}, {}, {}, true, false
  local last = p + (size - 1) * 4
  for q = p, last, 4 do
    local k, limit = plan[q] + base, limits[plan[q + 1]]
    if A[k] == nil then load(k, kind_of(limit[1])) end
    undo[#undo + 1] = { k, A[k], B[k], C[k], written[k] }
    local verdict, taken = check(q, base, dry)
    verdicts[q], takens[q] = verdict, taken
    costs[k] = (costs[k] or 0) + plan[q + 2]
    togethers[q] = costs[k]
    local shadow = limit[2] >= 2
    -- Not decided at all: asked again, or an error.
    if verdict == 'E' or verdict == 'T' then void = true end
    if verdict ~= true and not shadow then all = false end
  end
  if dry or void or not all then
    for i = size, 1, -1 do
      local u = undo[i]
      A[u[1]], B[u[1]], C[u[1]], written[u[1]] = u[2], u[3], u[4], u[5]
    end
    if not dry and not void then
      for q = p, last, 4 do
        local k, limit = plan[q] + base, limits[plan[q + 1]]
        if counting(limit) then check(q, base, false) end
        if verdicts[q] ~= 'B' then look(k, kinds[k], limit) end
      end
    end
  end
  for q = p, last, 4 do answer(q, base, verdicts[q], all and not dry and not void and takens[q] or 0, togethers[q]) end
end

local base, length = 0, #plan
repeat
  local p = 1
  while p <= length do
    local size = plan[p]
    if size == 1 then
      single(p + 1, base)
    elseif size > 0 then
      several(p + 1, base, size, false)
    else
      size = -size
      several(p + 1, base, size, true)
    end
    p = p + 1 + size * 4
  end
  base = base + period
until period == 0 or base >= #KEYS

for k, limit in pairs(written) do
  local value, us = kinds[k].print(A[k], B[k], C[k], limit)
  if value then
    local till = bans[k]
    if till > now then us = math.max(us, till - now) end
    redis.call('PSETEX', KEYS[k], ttl_ms(us), with_ban(till, value))
  end
end

-- A value that somebody left without a TTL gets one.
for k, limit in pairs(looked) do
  if not written[k] and values[k] and A[k] ~= nil and redis.call('PTTL', KEYS[k]) == -1 then
    local a, b, c = kinds[k].current(A[k], B[k], C[k], limit)
    local _, us = kinds[k].print(a, b, c, limit)
    redis.call('PEXPIRE', KEYS[k], math.max(ttl_ms(math.max(us or 0, bans[k] - now)), 1))
  end
end

return out
