-- worqr/delete: removes a queue with the tasks that wait in it and their locks, and tells who listens. Tasks that are
-- worked on stay with their workers, and so do their locks.
--
-- KEYS[1] queues:<q>, KEYS[2] uniqueWaiting:<q>, KEYS[3] knownQueues, KEYS[4] channel:<q>:delete
-- KEYS[5..] uniqueTasks:<q>:<hash> of each lock
-- ARGV[1] queue
-- ARGV[2..] hashes of the locks, as they were read
-- RETURNS {deleted, how many tasks} or {locked} while there are locks that were not named
-- FIRST WRITE HDEL
local queue, waiting, known, channel = unpack(KEYS, 1, 4)
local refusal = bad('LLEN', queue) or bad('HLEN', waiting) or bad('SCARD', known)
for i = 5, #KEYS do refusal = refusal or bad('STRLEN', KEYS[i]) end
if refusal then return refusal end

-- ASK GET SREM UNLINK
for i = 2, #ARGV do
  local token = (redis.call('HGET', waiting, ARGV[i]) or ''):match('^%d+ (.*)$')
  redis.call('HDEL', waiting, ARGV[i])
  if token and redis.call('GET', KEYS[i + 3]) == token then redis.call('UNLINK', KEYS[i + 3]) end
end
if redis.call('HLEN', waiting) > 0 then return { 'locked' } end
local count = redis.call('LLEN', queue)
redis.call('UNLINK', queue)
redis.call('SREM', known, ARGV[1])
redis.pcall('PUBLISH', channel, '')
return { 'deleted', count }
