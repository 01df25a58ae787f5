-- Whole-number arithmetic above 2^53; twin of algorithms/arithmetic.ts.
local floor = math.floor
local EXACT = 9007199254740991

-- quotient and remainder of a * b / c; c up to 6e14.
local function divide(a, b, c)
  local product = a * b
  if product <= EXACT then
    local quotient = floor(product / c)
    return quotient, product - quotient * c
  end
  local whole = floor(a / c)
  local r = a - whole * c
  local scale = 1
  while scale * 8 <= b do scale = scale * 8 end
  local quotient, remainder, rest = 0, 0, b
  while scale >= 1 do
    local digit = floor(rest / scale)
    rest = rest - digit * scale
    local x = remainder * 8 + r * digit
    local part = floor(x / c)
    quotient = quotient * 8 + part
    remainder = x - part * c
    scale = scale / 8
  end
  return whole * b + quotient, remainder
end

local function div_floor(a, b, c)
  local product = a * b
  if product <= EXACT then return floor(product / c) end
  return (divide(a, b, c))
end

local function div_ceil(a, b, c)
  local quotient, remainder = divide(a, b, c)
  if remainder > 0 then return quotient + 1 end
  return quotient
end
