-- object/touch: notes that an object is about to be used, so that the collector leaves it alone for a grace period.
--
-- Whoever wants to store a content asks this first. The note and the collector's last look are both scripts: either the
-- object was noted first and stays, or it was removed first and the answer is absent, so that it is uploaded again.
--
-- KEYS[1] objects, KEYS[2] object:<sha>
-- ARGV[1] sha
-- ARGV[2] bytes that the content has
-- RETURNS present; absent where there is none, or one of another length, which is damaged
-- FIRST WRITE PERSIST (of objects, which has no time to live: a full Redis would refuse the ZADD as the first write)
local objects, object = unpack(KEYS)
local wrong, length = bad('STRLEN', object)
local refusal = wrong or bad('ZCARD', objects)
if refusal then return refusal end
if redis.call('EXISTS', object) == 0 or length ~= tonumber(ARGV[2]) then return 'absent' end
redis.call('PERSIST', objects)
redis.call('ZADD', objects, ms(now()), ARGV[1])
return 'present'
