-- partition/keep: writes the log or the state of a job that is about to be received, unless it is there already.
--
-- KEYS[1] log:<id> or state:<id>
-- ARGV[1] for how many ms it is kept
-- ARGV[2] log or state
-- ARGV[3..] entries of the log, or the state
-- RETURNS 1, or 0 if it was there
-- FIRST WRITE RPUSH or SET, refused at full memory
local key, life, what = KEYS[1], ARGV[1], ARGV[2]
if redis.call('EXISTS', key) == 1 then return 0 end
if what == 'log' then
  redis.call('RPUSH', key, unpack(ARGV, 3))
  redis.call('PEXPIRE', key, life)
else
  redis.call('SET', key, ARGV[3], 'PX', life)
end
return 1
