-- worqr/leave: notes that a worker serves a queue no longer, once it holds nothing of it.
--
-- In the other order a worker that dies in between would leave tasks that nobody finds.
--
-- KEYS[1] workingQueues:<w>, KEYS[2] workingProcesses:<w>:<q>, KEYS[3] startedProcesses:<w>:<q>,
-- KEYS[4] servedQueues:<w>
-- ARGV[1] queue
-- RETURNS 1, or 0 while it holds tasks
-- FIRST WRITE SREM
local serves, working, started, served = unpack(KEYS)
local refusal = bad('SCARD', serves) or bad('SCARD', working) or bad('HLEN', started)
  or bad('SCARD', served)
if refusal then return refusal end

if redis.call('SCARD', working) > 0 then return 0 end
redis.call('SREM', serves, ARGV[1])
redis.call('SREM', served, ARGV[1])
redis.call('UNLINK', started)
return 1
