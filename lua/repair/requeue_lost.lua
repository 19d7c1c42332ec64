-- repair/requeue_lost: gives a job that is nowhere, although it has a record, to the front of its queue.
--
-- KEYS[1] jobs, KEYS[2] claimed, KEYS[3] names, KEYS[4] scheduled, KEYS[5] retry, KEYS[6] morgue, KEYS[7] ready,
-- KEYS[8] queues, KEYS[9] queue:<name>, KEYS[10] wake:<name>, KEYS[11] stalled, KEYS[12] turns, KEYS[13] turning,
-- KEYS[14] keyed
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2] id
-- ARGV[3] queue
-- ARGV[4] SHA-1 of its record as it was read
-- ARGV[5] how far from the ends of the queue is looked
-- ARGV[6] 1: the caller looked through what is between, time and again
-- RETURNS lost, placed, or unsure: it may be in the middle of the queue
-- FIRST WRITE HDEL
local jobs, claimed, names, scheduled, retry, morgue, ready, queues, queue, tokens, stalled, turns, turning, keyed =
  unpack(KEYS)
local mend, id, name, digest, reach, sure = unpack(ARGV)

local refusal = bad('HLEN', jobs) or bad('HLEN', claimed) or bad('HLEN', names) or bad('ZCARD', scheduled)
  or bad('ZCARD', retry) or bad('ZCARD', morgue) or bad('SCARD', ready) or bad('ZCARD', queues) or bad('LLEN', queue)
  or bad('ZCARD', stalled) or bad('ZCARD', turns) or bad('HLEN', turning) or bad('HLEN', keyed)
if refusal then return refusal end

if redis.call('HEXISTS', claimed, id) == 1 or redis.call('ZSCORE', scheduled, id) or redis.call('ZSCORE', retry, id)
  or redis.call('ZSCORE', morgue, id) or redis.call('ZSCORE', stalled, id)
  or redis.call('ZSCORE', turns, id) then
  return 'placed'
end
local record = redis.call('HGET', jobs, id)
if not record or redis.sha1hex(record) ~= digest then return 'placed' end
if redis.call('LPOS', queue, id, 'RANK', -1, 'MAXLEN', reach)
  or redis.call('LPOS', queue, id, 'RANK', 1, 'MAXLEN', reach) then
  return 'placed'
end
if sure ~= '1' and redis.call('LLEN', queue) > 2 * tonumber(reach) then return 'unsure' end
if mend ~= '1' then return 'lost' end

-- ASK HGETALL HSET RPUSH SADD TIME ZADD
redis.call('HDEL', names, id)
if redis.call('HEXISTS', keyed, id) == 1 then assign(turning, name) end -- so that a fetch looks at its key
redis.call('RPUSH', queue, id)
redis.call('SADD', ready, name)
redis.call('ZADD', queues, 'NX', ms(now()), name)
wake(tokens, 1)
return 'lost'
