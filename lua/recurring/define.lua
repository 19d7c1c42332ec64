-- recurring/define: makes a set of recurring items known, with its period, unless there is one.
--
-- KEYS[1] recurrings, KEYS[2] recurring.config:<name>
-- ARGV[1] name
-- ARGV[2] period in ms
-- RETURNS the period that holds, in ms, as text
-- FIRST WRITE SADD, refused at full memory
local sets, config = unpack(KEYS)
local name, period = unpack(ARGV)
local refusal = bad('SCARD', sets) or bad('HLEN', config)
if refusal then return refusal end
if redis.call('SISMEMBER', sets, name) == 0 then redis.call('SADD', sets, name) end
local holds = redis.call('HGET', config, 'timeout')
if holds then return holds end
redis.call('HSET', config, 'timeout', period)
return period
