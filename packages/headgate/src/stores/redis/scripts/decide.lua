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

--@include kinds
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
