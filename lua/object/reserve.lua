-- object/reserve: notes that an object is about to be used, where contents live in another home than Redis.
--
-- Sent before the content is written, so that nothing is in that home that is not noted here, and sent again after it:
-- an answer of reserved then says that it was removed in between. One that a collector is taking away cannot be
-- reserved.
--
-- KEYS[1] objects, KEYS[2] object:<sha>:leaving
-- ARGV[1] sha
-- RETURNS present if it was noted before, reserved if not, leaving if it is being taken away
-- FIRST WRITE PERSIST (of objects, as in object_touch)
local objects, leaving = unpack(KEYS)
local refusal = bad('ZCARD', objects) or bad('STRLEN', leaving)
if refusal then return refusal end
if redis.call('EXISTS', leaving) == 1 then return 'leaving' end
local known = redis.call('ZSCORE', objects, ARGV[1])
redis.call('PERSIST', objects)
redis.call('ZADD', objects, ms(now()), ARGV[1])
return known and 'present' or 'reserved'
