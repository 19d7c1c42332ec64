-- worqr/finish: ends a process for good, frees the lock if it is the unique task that has it, and tells who listens.
--
-- The process is taken out of the worker's own set first: only if it was there does the rest happen. So a process that
-- was taken away cannot be finished, and neither can one be twice. The released program takes one away without touching
-- that set: then the process itself is gone, its task may be with somebody else, and nothing is told.
--
-- KEYS[1] workingProcesses:<w>:<q>, KEYS[2] processes:<pid>, KEYS[3] startedProcesses:<w>:<q>,
-- KEYS[4] uniqueTasks:<q>:<hash>, KEYS[5] channel:<q>:done
-- ARGV[1] process
-- ARGV[2] what is told on the channel
-- RETURNS 1, or 0 if the process is not this worker's
-- FIRST WRITE SREM
local working, process, started, lock, channel = unpack(KEYS)
local pid, done = unpack(ARGV)
local refusal = bad('SCARD', working) or bad('LLEN', process) or bad('HLEN', started) or bad('STRLEN', lock)
if refusal then return refusal end

local owner = (redis.call('HGET', started, pid) or ''):match('^%d+ (.+)$')
local locked = owner and redis.call('GET', lock) == owner
-- ASK HDEL UNLINK
if redis.call('SREM', working, pid) == 0 then return 0 end
redis.call('HDEL', started, pid)
if redis.call('UNLINK', process) == 0 then return 0 end
if locked then redis.call('UNLINK', lock) end
redis.pcall('PUBLISH', channel, done)
return 1
