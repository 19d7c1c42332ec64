-- object/refer: adds jobs to those that refer to an object, if it is still there. A set counts no job twice.
--
-- KEYS[1] objects, KEYS[2] object:<sha>, KEYS[3] object:<sha>:jobs
-- ARGV[1] sha
-- ARGV[2] 1 if contents are in Redis, 0 if they are in another home
-- ARGV[3..] ids
-- RETURNS how many ids are new, -1 if the object has vanished
-- FIRST WRITE PERSIST (of the set, which has no time to live)
local objects, object, jobs = unpack(KEYS)
local refusal = bad('ZCARD', objects) or bad('STRLEN', object) or bad('SCARD', jobs)
if refusal then return refusal end
if not redis.call('ZSCORE', objects, ARGV[1]) or ARGV[2] == '1' and redis.call('EXISTS', object) == 0 then return -1 end
redis.call('PERSIST', jobs)
local added = redis.call('SADD', jobs, unpack(ARGV, 3))
redis.call('ZADD', objects, ms(now()), ARGV[1])
return added
