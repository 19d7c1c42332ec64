-- worker/note_prefetch: notes that a worker claims more jobs than it runs, before it does, or that it does not any
-- longer. Of a worker that dies with such jobs nobody can tell which of them ran: see job/release.
--
-- KEYS[1] workers, KEYS[2] worker:<id>:info
-- ARGV[1] worker
-- ARGV[2] how many more at the most; 0 is none
-- RETURNS 1, or 0 if it is not registered
-- FIRST WRITE HDEL
local workers, info = KEYS[1], KEYS[2]
local refusal = bad('SCARD', workers) or bad('HLEN', info)
if refusal then return refusal end
if redis.call('SISMEMBER', workers, ARGV[1]) == 0 then return 0 end
-- ASK HSET
redis.call('HDEL', info, 'prefetch')
redis.call('HSET', info, 'prefetch', ARGV[2])
return 1
