-- audit/add: notes what somebody has done, and lets go of what was noted long ago.
--
-- An entry begins with an id of its own. So one that is sent again is there already, and keeps its time.
--
-- KEYS[1] audit
-- ARGV[1] entry: its id, a blank and JSON
-- ARGV[2] how many are kept at the most, ARGV[3] for how many ms
-- RETURNS 1, or 0 where it was noted before
-- FIRST WRITE PEXPIRE
local audit = KEYS[1]
local entry, most, kept = unpack(ARGV)
local refusal, length = bad('ZCARD', audit)
if refusal then return refusal end

redis.call('PEXPIRE', audit, kept)
local time = now()
local added = redis.call('ZADD', audit, 'NX', ms(time), entry)
-- one more at a time: so many are too old only after a pause
local over = math.max(length + added - most, redis.call('ZCOUNT', audit, '-inf', ms(time - kept)))
if over > 0 then redis.call('ZREMRANGEBYRANK', audit, 0, math.min(over, 100) - 1) end
redis.call('PEXPIRE', audit, kept)
return added
