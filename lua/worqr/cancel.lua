-- worqr/cancel: removes every waiting copy of a task, and marks those that are worked on: they end, wherever they are
-- put back.
--
-- Processes are numbered as they start. The mark is the last number given out, so it concerns those that run now and
-- none that is enqueued and started later. The newest 10,000 marks are kept.
--
-- KEYS[1] queues:<q>, KEYS[2] uniqueWaiting:<q>, KEYS[3] uniqueTasks:<q>:<hash>, KEYS[4] cancelledTasks:<q>,
-- KEYS[5] sequence, KEYS[6] channel:<q>:cancel
-- ARGV[1] task
-- ARGV[2] its hash
-- ARGV[3] ms that marks are kept
-- RETURNS how many waiting copies were removed
-- FIRST WRITE LREM
local queue, waiting, lock, cancelled, sequence, channel = unpack(KEYS)
local task, digest, keep = unpack(ARGV)
local refusal = bad('LLEN', queue) or bad('HLEN', waiting) or bad('STRLEN', lock) or bad('ZCARD', cancelled)
  or bad('STRLEN', sequence)
if refusal then return refusal end

-- ASK GET HDEL PEXPIRE UNLINK ZADD ZREMRANGEBYRANK
local removed = redis.call('LREM', queue, 0, task)
redis.call('HDEL', waiting, digest)
redis.call('UNLINK', lock)
redis.call('ZADD', cancelled, redis.call('GET', sequence) or '0', digest)
redis.call('ZREMRANGEBYRANK', cancelled, 0, -10001)
redis.call('PEXPIRE', cancelled, keep)
redis.pcall('PUBLISH', channel, task)
return removed
