-- worqr/end_cancelled: ends a process without a word if its task was cancelled since it started.
--
-- KEYS[1] workingProcesses:<w>:<q>, KEYS[2] processes:<pid>, KEYS[3] startedProcesses:<w>:<q>,
-- KEYS[4] cancelledTasks:<q>
-- ARGV[1] process
-- ARGV[2] hash of its task
-- ARGV[3] 1: also if nothing is known of a cancellation, as of one by the released program, which leaves no mark
-- RETURNS ended, kept, or gone if the process is not this worker's
-- FIRST WRITE SREM
local working, process, started, cancelled = unpack(KEYS)
local pid, digest, unmarked = unpack(ARGV)
local refusal = bad('SCARD', working) or bad('LLEN', process) or bad('HLEN', started) or bad('ZCARD', cancelled)
if refusal then return refusal end

if redis.call('SISMEMBER', working, pid) == 0 then return 'gone' end
local seq = (redis.call('HGET', started, pid) or '0'):match('^%d+')
local mark = redis.call('ZSCORE', cancelled, digest)
if mark and tonumber(seq) > tonumber(mark) or not mark and unmarked ~= '1' then return 'kept' end
redis.call('SREM', working, pid)
redis.call('UNLINK', process)
redis.call('HDEL', started, pid)
return 'ended'
