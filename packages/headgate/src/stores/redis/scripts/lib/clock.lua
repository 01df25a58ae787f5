-- The server's clock, read once: whole microseconds since 1970. Tests replace exactly the next line.
local time = redis.call('TIME') local now = time[1] * 1000000 + time[2]
