-- result/keep_outcome: keeps the outcome of a job that waits and is to be cancelled or was deleted, before its end. It
-- is for those so deep in a queue that to take them out would hold Redis up: they read as ended from now on, and
-- whoever fetches them ends them.
--
-- What is told first counts, and whoever has flagged a job first: one that somebody has cancelled is not deleted any
-- more.
--
-- KEYS[1] jobs, KEYS[2] cancelled, KEYS[3] claimed, KEYS[4] outcomes, KEYS[5] outcomes:until, KEYS[6] waited,
-- KEYS[7] done, KEYS[8] names, KEYS[9] ended:<state>:<name>, KEYS[10] details:<state>:<name>
-- ARGV[1] id
-- ARGV[2] ms to keep the outcome
-- ARGV[3] outcome
-- ARGV[4] 1: it is not flagged yet, 0: it is
-- ARGV[5] details, empty where none are kept
-- RETURNS flagged: it reads so; cancelled: it was flagged before, or ends otherwise; gone: it is not in a queue, or not
--   flagged; held: a worker has it
-- FIRST WRITE HDEL
local jobs, cancelled, claimed, outcomes, expiry, waited, done, names, ended, details = unpack(KEYS)
local id, keep, outcome, fresh, told = unpack(ARGV)

local refusal = bad('HLEN', jobs) or bad('SCARD', cancelled) or bad('HLEN', claimed) or bad('HLEN', outcomes)
  or bad('ZCARD', expiry) or bad('HLEN', waited) or bad('HLEN', names) or bad('ZCARD', ended) or bad('HLEN', details)
if refusal then return refusal end
if redis.call('HEXISTS', jobs, id) == 0 then return 'gone' end
if redis.call('HEXISTS', claimed, id) == 1 then return 'held' end
if redis.call('HEXISTS', names, id) == 1 then return 'gone' end
local kept, flagged = redis.call('HGET', outcomes, id), redis.call('SISMEMBER', cancelled, id) == 1
if flagged and kept == outcome then return 'flagged' end -- this was sent before
if flagged and (fresh == '1' or kept and kept:find('^{"state":"deleted"')) then return 'cancelled' end
if not flagged and fresh == '0' then return 'gone' end

-- ASK HSET PEXPIRE PTTL SADD TIME ZADD ZRANGE ZREM
local waiter = redis.call('HDEL', waited, id) == 1
redis.call('SADD', cancelled, id)
redis.call('HSET', outcomes, id, outcome)
local time = now()
redis.call('ZADD', expiry, ms(time + tonumber(keep)), id)
if told ~= '' then remember(ended, details, { id, told, keep }, time) end
if waiter then
  -- PRELUDE tell
  tell(done, id)
end
return 'flagged'
