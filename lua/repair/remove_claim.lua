-- repair/remove_claim: removes a claim that nobody holds: its worker is unknown, or its element is missing. A job that
-- is in no other place goes back to the front of its queue.
--
-- KEYS[1] claimed, KEYS[2] workers, KEYS[3] dead, KEYS[4] jobs, KEYS[5] ready, KEYS[6] scheduled, KEYS[7] retry,
-- KEYS[8] morgue, KEYS[9] worker:<id>:inprocess:<name>, KEYS[10] queue:<name>, KEYS[11] wake:<name>,
-- KEYS[12] worker:<id>, KEYS[13] stalled, KEYS[14] running:<name>, KEYS[15] turns, KEYS[16] turning,
-- KEYS[17] keyed
-- ARGV[1] id
-- ARGV[2] claim as it was read: "worker n ms queue"
-- ARGV[3] worker
-- ARGV[4] element
-- ARGV[5] queue
-- ARGV[6] how far from the ends of the queue is looked
-- RETURNS ok (it is held after all, or changed), back, elsewhere or ghost (no record)
-- FIRST WRITE LREM
local claimed, workers, dead, jobs, ready, scheduled, retry, morgue, inprocess, queue, tokens, heart, stalled, running,
  turns, turning, keyed = unpack(KEYS)
local id, claim, worker, element, name, reach = unpack(ARGV)

local refusal = bad('HLEN', claimed) or bad('SCARD', workers) or bad('SCARD', dead) or bad('HLEN', jobs)
  or bad('SCARD', ready) or bad('ZCARD', scheduled) or bad('ZCARD', retry) or bad('ZCARD', morgue)
  or bad('LLEN', inprocess) or bad('LLEN', queue) or bad('ZCARD', stalled) or bad('SCARD', running)
  or bad('ZCARD', turns) or bad('HLEN', turning) or bad('HLEN', keyed)
if refusal then return refusal end
if redis.call('HGET', claimed, id) ~= claim or redis.call('SISMEMBER', dead, worker) == 1 then return 'ok' end
local registered = redis.call('SISMEMBER', workers, worker) == 1
if registered and redis.call('LPOS', inprocess, element) then return 'ok' end
if not registered and redis.call('PTTL', heart) >= 0 then return 'ok' end -- it was fenced, and is about to notice

-- ASK HDEL HEXISTS HGETALL HSET LPOS RPUSH SADD SREM ZSCORE
redis.call('LREM', inprocess, 0, element)
redis.call('HDEL', claimed, id)
redis.call('SREM', running, id)
if redis.call('HEXISTS', jobs, id) == 0 then return 'ghost' end
if redis.call('ZSCORE', scheduled, id) or redis.call('ZSCORE', retry, id) or redis.call('ZSCORE', morgue, id)
  or redis.call('ZSCORE', stalled, id) or redis.call('ZSCORE', turns, id)
  or redis.call('LPOS', queue, id, 'RANK', -1, 'MAXLEN', reach)
  or redis.call('LPOS', queue, id, 'RANK', 1, 'MAXLEN', reach) then
  return 'elsewhere'
end
if redis.call('HEXISTS', keyed, id) == 1 then assign(turning, name) end -- so that a fetch looks at its key
redis.call('RPUSH', queue, id)
redis.call('SADD', ready, name)
wake(tokens, 1)
return 'back'
