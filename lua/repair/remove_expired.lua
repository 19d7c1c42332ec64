-- repair/remove_expired: removes outcomes whose retention has passed, at most 500 at a time.
--
-- KEYS[1] outcomes, KEYS[2] outcomes:until
-- ARGV[1] how many at the most
-- RETURNS how many were removed
-- FIRST WRITE ZREM
local refusal = bad('HLEN', KEYS[1]) or bad('ZCARD', KEYS[2])
if refusal then return refusal end
local ids = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ms(now()), 'LIMIT', 0, ARGV[1])
if #ids == 0 then return 0 end
redis.call('ZREM', KEYS[2], unpack(ids))
redis.call('HDEL', KEYS[1], unpack(ids))
return #ids
