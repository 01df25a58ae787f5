--@include arithmetic
-- What flows back into a bucket in `elapsed` us at `units` millionths per `us`, at most `used`.
local function credit(elapsed, used, units, us)
  if elapsed <= 0 then return 0 end
  if elapsed * units / us > used * 1.000001 + 1 then return used end
  local flowed = div_floor(elapsed, units, us)
  if flowed > used then return used end
  return flowed
end
