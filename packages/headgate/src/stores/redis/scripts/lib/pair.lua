-- A pair of a time and a number: 12 bytes, or 14 where the number needs them (from NARROW on).
local PAIR, WIDE_PAIR, NARROW = '>I7I5', '>I7I7', 1099511627776
