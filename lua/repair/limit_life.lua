-- repair/limit_life: gives a heartbeat, the lease or its deputy's place that would stay for ever the time that it
-- should have; and one that would stay for longer than that, since Redis' clock was set back.
--
-- KEYS[1] worker:<id>, lease or deputy
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2] ms
-- ARGV[3] ms that are too long
-- RETURNS 1 if it would have stayed for ever, 2 if for too long, else 0
-- FIRST WRITE PEXPIRE
local left = redis.call('PTTL', KEYS[1])
if left == -2 or left >= 0 and left <= tonumber(ARGV[3]) then return 0 end
if ARGV[1] == '1' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return left == -1 and 1 or 2
