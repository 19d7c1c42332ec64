-- object/mark_removed: says that a collector has taken a content out of its home, so that it may be stored there again.
--
-- KEYS[1] object:<sha>:leaving
-- ARGV[1] mark of the collector: that of another one stays
-- RETURNS 1 if the mark was removed
-- FIRST WRITE UNLINK
local refusal = bad('STRLEN', KEYS[1])
if refusal then return refusal end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('UNLINK', KEYS[1])
