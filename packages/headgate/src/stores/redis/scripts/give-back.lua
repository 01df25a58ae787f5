-- give-back: returns units that were taken, by the one rule of giving back.
-- KEYS[1]: the state key; KEYS[2], optional: the marker that makes it count once
-- ARGV[1]: kind: 1 bucket, 2 window or quota, 3 sliding window, 4 log, 6 concurrency, 7 consecutive failures; ARGV[2]: units; of 7, 0 for
--          all that are counted, as the attempt succeeded
-- ARGV[3]: when they were taken, us; ARGV[4]: the window's end (2, 3), the window's length (4), after how long all is forgotten (7), else 0
-- ARGV[5]: the refill in millionths (1), what stays used at least (2), else 0; ARGV[6]: per us (1), else 0; ARGV[7]: the holder (6), else ''
-- ARGV[8]: when the take can return nothing any more, us
-- ARGV[9]: the capacity in millionths (1); ARGV[10]: millionths used after the take, of a turn in the future (1), else 0
-- reply: the units returned; of a bucket, millionths
-- TTL: the state's stays, and a key that counts no failures any more has its ban's, or is deleted; the marker's lasts until ARGV[8]
-- atomic: two processes that give the same take back at once would both return it
--@include clock
--@include credit
--@include value
local kind, units, at, mark = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local value = redis.call('GET', KEYS[1])
if not value then return 0 end
local till, state = split_ban(value)
if not till or state == '' then return 0 end

local back, after = 0, nil
if kind == 1 then
  local since, used = unpack_pair(state)
  if not used then return 0 end
  local taken = units * 1000000
  local refill, per, fill = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[10])
  -- Above the capacity, others have taken turns in the future: only the last one can be given back.
  local current = used - credit(now - since, used, refill, per)
  if current > tonumber(ARGV[9]) and current > fill - credit(now - at, fill, refill, per) then return 0 end
  back = math.min(used, taken - credit(now - at, taken, refill, per))
  after = pack_pair(since, used - back)
elseif kind == 2 then
  local window_end, count = unpack_pair(state)
  if window_end ~= mark or mark <= now then return 0 end
  back = math.min(units, math.max(0, count - tonumber(ARGV[5])))
  after = pack_pair(window_end, count - back)
elseif kind == 3 then
  local current, rest = match(state, '^(%d+)(:%d+:%d+)$')
  if not current or tonumber(match(rest, '(%d+)$')) ~= mark or mark <= now then return 0 end
  current = tonumber(current)
  back = math.min(units, current)
  after = format('%d', current - back) .. rest
elseif kind == 4 then
  if byte(state) ~= 76 or at + mark <= now then return 0 end
  local total = struct.unpack(LOG_HEAD, state, 2)
  for i = 9, #state - LOG_SIZE + 1, LOG_SIZE do
    local taken_at, cost = struct.unpack(LOG_RECORD, state, i)
    if taken_at == at and cost >= units then
      -- A record of cost 0 stays in its place, so that the newest still says when the log is empty.
      back = units
      after = 'L' .. struct.pack(LOG_HEAD, total - units) .. sub(state, 9, i - 1)
        .. struct.pack(LOG_RECORD, at, cost - units) .. sub(state, i + LOG_SIZE)
      break
    end
  end
elseif kind == 6 then
  if byte(state) ~= 67 then return 0 end
  local left = {}
  for _, h in ipairs(parse_holders(state)) do
    if h[1] ~= ARGV[7] then left[#left + 1] = h
    elseif h[2] > now then back = h[3] end
  end
  after = print_holders(left)
elseif kind == 7 then
--@include attempts
  local count, last, first = unpack_attempts(state)
  -- What began before the count did was forgotten by a success since.
  if not count or at < first or last + mark <= now then return 0 end
  if units == 0 then
    back = count
  elseif now < tonumber(ARGV[8]) then
    back = math.min(units, count)
  end
  -- The wait is reckoned from the last attempt that is known, though it be the one that came back.
  after = count > back and pack_attempts(count - back, last, first) or ''
end

if back == 0 then return 0 end
if KEYS[2] then
  local ms = math.max(1, ttl_ms(tonumber(ARGV[8]) - now))
  if not redis.call('SET', KEYS[2], '1', 'PX', ms, 'NX') then return 0 end
end
if after == '' then
  if till > now then redis.call('PSETEX', KEYS[1], ttl_ms(till - now), with_ban(till, '')) else redis.call('DEL', KEYS[1]) end
  return back
end
local ms = redis.call('PTTL', KEYS[1])
if ms < 1 then ms = math.max(1, ttl_ms(tonumber(ARGV[8]) - now)) end
redis.call('PSETEX', KEYS[1], ms, with_ban(till, after))
return back
