-- The server's clock, read once: whole microseconds since 1970. Tests replace exactly the next line.
local now = (function() local t = redis.call('TIME') return tonumber(t[1]) * 1000000 + tonumber(t[2]) end)()
