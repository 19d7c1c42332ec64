-- foretell: keeps the outcome of a job that waits and is to be cancelled, before its end. It is for those so deep in a queue
-- that to take them out would hold Redis up: they read as cancelled from now on, and whoever fetches them ends them.
--
-- KEYS[1] jobs, KEYS[2] cancelled, KEYS[3] claimed, KEYS[4] outcomes, KEYS[5] outcomes:until, KEYS[6] waited, KEYS[7] done
-- ARGV[1] id
-- ARGV[2] ms to keep the outcome
-- ARGV[3] outcome
-- RETURNS 1 if it waits and is to be cancelled
-- FIRST WRITE HDEL
local jobs, cancelled, claimed, outcomes, expiry, waited, done = unpack(KEYS)
local id, keep, outcome = unpack(ARGV)

local refusal = bad('HLEN', jobs) or bad('SCARD', cancelled) or bad('HLEN', claimed) or bad('HLEN', outcomes)
  or bad('ZCARD', expiry) or bad('HLEN', waited)
if refusal then return refusal end
if redis.call('HEXISTS', jobs, id) == 0 or redis.call('SISMEMBER', cancelled, id) == 0 then return 0 end
if redis.call('HEXISTS', claimed, id) == 1 then return 0 end
if redis.call('HGET', outcomes, id) == outcome then return 1 end -- this was sent before

local waiter = redis.call('HDEL', waited, id) == 1
redis.call('HSET', outcomes, id, outcome)
redis.call('ZADD', expiry, ms(now() + tonumber(keep)), id)
if waiter then redis.call('PUBLISH', done, id) end
return 1
