-- repair/return_claim: gives a claimed job back that nobody holds: its worker is unknown, or its element is missing.
--
-- KEYS[1] claimed, KEYS[2] workers, KEYS[3] dead, KEYS[4] jobs, KEYS[5] ready,
-- KEYS[6] worker:<id>:inprocess:<name>, KEYS[7] queue:<name>, KEYS[8] wake:<name>,
-- KEYS[9] scheduled, KEYS[10] retry, KEYS[11] morgue, KEYS[12] stalled, KEYS[13] running:<name>,
-- KEYS[14] turns, KEYS[15] turning, KEYS[16] keyed
-- ARGV[1] id
-- ARGV[2] claim as it was read: "worker n ms queue"
-- ARGV[3] worker
-- ARGV[4] element
-- ARGV[5] queue
-- RETURNS 1 if the job was given back, 2 if only the claim was removed: the job has no record, or lies on a shelf; 0 if
--   it is held after all
-- FIRST WRITE LREM
local claimed, workers, dead, jobs, ready, inprocess, queue, tokens, scheduled, retry, morgue, stalled, running,
  turns, turning, keyed = unpack(KEYS)
local id, claim, worker, element, name = unpack(ARGV)

local refusal = bad('HLEN', claimed) or bad('HLEN', jobs) or bad('SCARD', ready) or bad('LLEN', inprocess)
  or bad('LLEN', queue) or bad('SCARD', running) or bad('HLEN', turning) or bad('HLEN', keyed)
if refusal then return refusal end
if redis.call('HGET', claimed, id) ~= claim then return 0 end
if redis.call('SISMEMBER', dead, worker) == 1 then return 0 end
if redis.call('SISMEMBER', workers, worker) == 1 and redis.call('LPOS', inprocess, element) then return 0 end

-- ASK HDEL HEXISTS HGETALL HSET RPUSH SADD SREM ZSCORE
local function on(shelf) return type(unless_refused(redis.pcall('ZSCORE', shelf, id))) == 'string' end
local shelved = on(scheduled) or on(retry) or on(morgue) or on(stalled) or on(turns)
redis.call('LREM', inprocess, 0, element)
redis.call('HDEL', claimed, id)
redis.call('SREM', running, id)
if shelved or redis.call('HEXISTS', jobs, id) == 0 then return 2 end
if redis.call('HEXISTS', keyed, id) == 1 then assign(turning, name) end -- so that a fetch looks at its key
redis.call('RPUSH', queue, id)
redis.call('SADD', ready, name)
wake(tokens, 1)
return 1
