-- worker/note_rights: notes what a worker may not do, so that it fetches nothing, or that it may do all of it again.
--
-- The user of the worker may lack what this takes: then nothing of it is noted here.
--
-- KEYS[1] workers, KEYS[2] worker:<id>:info
-- ARGV[1] worker
-- ARGV[2] what it is refused; empty is nothing
-- RETURNS 1, or 0 if it is not registered
-- FIRST WRITE HDEL
local workers, info = KEYS[1], KEYS[2]
local refusal = bad('SCARD', workers) or bad('HLEN', info)
if refusal then return refusal end
if redis.call('SISMEMBER', workers, ARGV[1]) == 0 then return 0 end
redis.call('HDEL', info, 'refused')
if ARGV[2] ~= '' then redis.call('HSET', info, 'refused', ARGV[2]) end
return 1
