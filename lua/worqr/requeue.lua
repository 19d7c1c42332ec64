-- worqr/requeue: puts tasks of a worker back to the front of their queue, those that were cancelled excepted, which
-- end here.
--
-- It serves a task that is stopped, a worker that serves the queue no longer, and a worker that is dead; of another
-- worker's tasks it moves none while that one is alive. The processes come newest first, so that the oldest is in front
-- in the end. A process that may still be about to start becomes void. A queue that was deleted meanwhile is in the
-- registry again.
--
-- KEYS[1] workingProcesses:<w>:<q>, KEYS[2] startedProcesses:<w>:<q>, KEYS[3] queues:<q>, KEYS[4] uniqueWaiting:<q>,
-- KEYS[5] cancelledTasks:<q>, KEYS[6] leasedWorkers, KEYS[7] workerTimers:<w>, KEYS[8] voidedProcesses:<w>,
-- KEYS[9] channel:<q>:work, KEYS[10] knownQueues
-- KEYS[11..] processes:<pid> of each process
-- ARGV[1] worker
-- ARGV[2] own, or dead for the tasks of a worker that has to be dead
-- ARGV[3] ms that void processes are remembered; 0 for none
-- ARGV[4] queue
-- ARGV[5..] processes, newest first
-- RETURNS {moved, how many were put back, how many were cancelled} or {alive}
-- FIRST WRITE SREM
local working, started, queue, waiting, cancelled, leased, timer, voided, channel, known = unpack(KEYS, 1, 10)
local worker, mode, void, name = unpack(ARGV, 1, 4)
local refusal = bad('SCARD', working) or bad('HLEN', started) or bad('LLEN', queue) or bad('HLEN', waiting)
  or bad('ZCARD', cancelled) or bad('SCARD', voided) or bad('SCARD', known)
for i = 11, #KEYS do refusal = refusal or bad('LLEN', KEYS[i]) end
if refusal then return refusal end
if mode == 'dead' and (redis.call('SISMEMBER', leased, worker) == 0 or redis.call('EXISTS', timer) == 1) then
  return { 'alive' }
end

-- locked notes how many copies of the task will be taken before the unique one of its kind.
local function locked(task, owner)
  if owner == '' and redis.call('HLEN', waiting) == 0 then return end
  local digest = redis.sha1hex(task)
  local before, token = (redis.call('HGET', waiting, digest) or ''):match('^(%d+) (.*)$')
  if owner ~= '' then
    redis.call('HSET', waiting, digest, '0 ' .. owner)
  elseif before then
    redis.call('HSET', waiting, digest, (before + 1) .. ' ' .. token)
  end
end

-- ASK HDEL HGET HSET LINDEX PEXPIRE RPUSH SADD UNLINK ZSCORE
local back, ended = 0, 0
for i = 5, #ARGV do
  local pid, process = ARGV[i], KEYS[i + 6]
  local seq, owner = (redis.call('HGET', started, pid) or '0 '):match('^(%d+) (.*)$')
  local mine = redis.call('SREM', working, pid) == 1
  redis.call('HDEL', started, pid)
  if mine then
    local task = redis.call('LINDEX', process, 0)
    local mark = task and redis.call('ZCARD', cancelled) > 0 and redis.call('ZSCORE', cancelled, redis.sha1hex(task))
    if mark and tonumber(seq) <= tonumber(mark) then
      ended = ended + 1
    elseif task then
      redis.call('RPUSH', queue, task)
      locked(task, owner)
      back = back + 1
    end
    redis.call('UNLINK', process)
  elseif tonumber(void) > 0 then
    redis.call('SADD', voided, pid)
    redis.call('PEXPIRE', voided, void)
  end
end
if back > 0 then
  redis.call('SADD', known, name)
  redis.pcall('PUBLISH', channel, back)
end
return { 'moved', back, ended }
