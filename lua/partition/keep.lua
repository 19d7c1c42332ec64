-- partition/keep: writes the log, the state, the steps or the mailbox of a job that is about to be received, unless it
-- is there already.
--
-- A mailbox is noted, also where it is there: that of a job without a record is removed an hour after it was noted, so
-- a note that is old is renewed.
--
-- KEYS[1] log:<id> or state:<id> or steps:<id> or mail:<id>, KEYS[2] mailed
-- ARGV[1] for how many ms it is kept
-- ARGV[2] log, state, steps or mail
-- ARGV[3] id
-- ARGV[4..] entries of the log, the state, names and texts of steps, or the mailbox
-- RETURNS 1, or 0 if it was there
-- FIRST WRITE RPUSH, HSET or SET, refused at full memory
local key, mailed = unpack(KEYS)
local life, what, id = unpack(ARGV, 1, 3)
if what == 'mail' then
  local refusal = bad('HLEN', mailed)
  if refusal then return refusal end
  local time, noted = now(), tonumber(redis.call('HGET', mailed, id) or 0) or 0
  if noted < time - 600000 then redis.call('HSET', mailed, id, ms(time)) end
end
if redis.call('EXISTS', key) == 1 then return 0 end
-- ASK PEXPIRE
if what == 'log' or what == 'mail' then
  redis.call('RPUSH', key, unpack(ARGV, 4))
elseif what == 'steps' then
  redis.call('HSET', key, unpack(ARGV, 4))
else
  redis.call('SET', key, ARGV[4], 'PX', life)
end
redis.call('PEXPIRE', key, life)
return 1
