-- lapse: gives a heartbeat or a lease that would stay for ever the time that it should have.
--
-- KEYS[1] worker:<id> or lease
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2] ms
-- RETURNS 1 if it would have stayed for ever
-- FIRST WRITE PEXPIRE
if redis.call('PTTL', KEYS[1]) ~= -1 then return 0 end
if ARGV[1] == '1' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
