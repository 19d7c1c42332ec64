-- repair/remove_worker: removes what is left of a worker that nobody knows and that has no heartbeat. Its in-process
-- lists stay: their elements go back one by one.
--
-- KEYS[1] workers, KEYS[2] dead, KEYS[3] worker:<id>, KEYS[4] worker:<id>:queues, KEYS[5] worker:<id>:info,
-- KEYS[6] worker:<id>:running
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2] worker
-- RETURNS how many keys there were; 0 if it is known or its heart beats
-- FIRST WRITE UNLINK
local workers, dead, heart, queues, info, running = unpack(KEYS)
local refusal = bad('SCARD', workers) or bad('SCARD', dead)
if refusal then return refusal end
if redis.call('SISMEMBER', workers, ARGV[2]) == 1 or redis.call('SISMEMBER', dead, ARGV[2]) == 1 then return 0 end
if redis.call('PTTL', heart) >= 0 then return 0 end
if ARGV[1] == '1' then return redis.call('UNLINK', heart, queues, info, running) end
return redis.call('EXISTS', heart, queues, info, running)
