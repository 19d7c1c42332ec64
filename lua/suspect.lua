-- suspect: notes which job a worker is about to begin, of those that workers have died with. If the worker dies now, that
-- job is to blame, and not the others that it holds.
--
-- KEYS[1] worker:<id>:info, KEYS[2] worker:<id>:inprocess:<name>
-- ARGV[1] element
-- RETURNS 1, or 0 if the claim is gone
-- FIRST WRITE HDEL (of a field that is never there)
local refusal = bad('HLEN', KEYS[1]) or bad('LLEN', KEYS[2])
if refusal then return refusal end
if redis.call('HLEN', KEYS[1]) == 0 or not redis.call('LPOS', KEYS[2], ARGV[1]) then return 0 end
redis.call('HDEL', KEYS[1], '')
redis.call('HSET', KEYS[1], 'suspect', ARGV[1])
return 1
