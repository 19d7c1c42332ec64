-- worqr/end_cancelled: ends a process without a word if its task was cancelled since it started, or if it is gone.
--
-- The released program's stopProcess takes a process away without asking whose it is, and the workers that it ships as
-- an example do so with every process of a task whose cancellation they hear of: the copy that they have put back, at
-- the back, is removed again. A unique task that waits has its own place among the copies, and is not that copy.
--
-- KEYS[1] workingProcesses:<w>:<q>, KEYS[2] processes:<pid>, KEYS[3] startedProcesses:<w>:<q>,
-- KEYS[4] cancelledTasks:<q>, KEYS[5] queues:<q>, KEYS[6] uniqueWaiting:<q>
-- ARGV[1] process
-- ARGV[2] hash of its task
-- ARGV[3] 1: also if nothing is known of a cancellation, as of one by the released program, which leaves no mark
-- ARGV[4] task
-- ARGV[5] how far into the queue copies are looked for
-- RETURNS ended, kept, or gone if the process is not this worker's
-- FIRST WRITE SREM
local working, process, started, cancelled, queue, waiting = unpack(KEYS)
local pid, digest, unmarked, task, reach = unpack(ARGV)
local refusal = bad('SCARD', working) or bad('LLEN', process) or bad('HLEN', started) or bad('ZCARD', cancelled)
  or bad('LLEN', queue) or bad('HLEN', waiting)
if refusal then return refusal end

if redis.call('SISMEMBER', working, pid) == 0 then return 'gone' end
local seq = (redis.call('HGET', started, pid) or '0'):match('^%d+')
local mark = redis.call('ZSCORE', cancelled, digest)
local over = mark and tonumber(seq) <= tonumber(mark) or not mark and unmarked == '1'
if not over and redis.call('EXISTS', process) == 1 then return 'kept' end
-- ASK HDEL HSET LPOS LREM UNLINK
redis.call('SREM', working, pid)
redis.call('HDEL', started, pid)
if redis.call('UNLINK', process) == 1 then return 'ended' end
if not over then return 'gone' end

local copies = #redis.call('LPOS', queue, task, 'COUNT', 0, 'MAXLEN', reach)
if copies == 0 then return 'gone' end
local before, token = (redis.call('HGET', waiting, digest) or ''):match('^(%d+) (.*)$')
if before and copies <= before + 1 then -- the unique one is the last of them
  if before == '0' then return 'gone' end
  redis.call('HSET', waiting, digest, (before - 1) .. ' ' .. token)
end
redis.call('LREM', queue, 1, task)
return 'ended'
