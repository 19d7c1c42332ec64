-- worqr/start: takes the task at the front of a queue for a worker, as a process whose id the worker has chosen.
--
-- A call that is sent again finds its process and answers with the same task. One whose worker has given up waiting is
-- void: it must not leave a task with nobody when it lands late.
--
-- KEYS[1] queues:<q>, KEYS[2] processes:<pid>, KEYS[3] workingQueues:<w>, KEYS[4] leasedWorkers, KEYS[5] registrations,
-- KEYS[6] workerTimers:<w>, KEYS[7] workingProcesses:<w>:<q>, KEYS[8] startedProcesses:<w>:<q>,
-- KEYS[9] voidedProcesses:<w>, KEYS[10] uniqueWaiting:<q>, KEYS[11] sequence, KEYS[12] workers
-- ARGV[1] worker
-- ARGV[2] queue
-- ARGV[3] process
-- ARGV[4] registration of the worker
-- RETURNS {started, task, its number} or {empty, idle, lapsed or void}
-- FIRST WRITE RPOP
local queue, process, serves, leased, registrations, timer, working, started, voided, waiting = unpack(KEYS, 1, 10)
local sequence, workers = KEYS[11], KEYS[12]
local worker, name, pid, registration = unpack(ARGV)
local refusal = bad('LLEN', queue) or bad('LLEN', process) or bad('SCARD', serves) or bad('SCARD', working)
  or bad('HLEN', started) or bad('SCARD', voided) or bad('HLEN', waiting) or bad('STRLEN', sequence)
if refusal then return refusal end

if redis.call('SISMEMBER', working, pid) == 1 then
  local seq = (redis.call('HGET', started, pid) or '0'):match('^%d+')
  return { 'started', redis.call('LINDEX', process, 0), seq }
end
if redis.call('SISMEMBER', voided, pid) == 1 then return { 'void' } end
if redis.call('HGET', registrations, worker) ~= registration then return { 'lapsed' } end
if redis.call('SISMEMBER', workers, worker) == 0 then return { 'lapsed' } end
if redis.call('SISMEMBER', leased, worker) == 1 and redis.call('EXISTS', timer) == 0 then return { 'lapsed' } end
if redis.call('SISMEMBER', serves, name) == 0 then return { 'idle' } end

-- ASK HDEL HSET INCR LPUSH SADD
local task = redis.call('RPOP', queue)
if not task then return { 'empty' } end
redis.call('LPUSH', process, task)
redis.call('SADD', working, pid)
local owner = ''
if redis.call('HLEN', waiting) > 0 then
  local digest = redis.sha1hex(task)
  local before, token = (redis.call('HGET', waiting, digest) or ''):match('^(%d+) (.*)$')
  if before == '0' then
    redis.call('HDEL', waiting, digest)
    owner = token
  elseif before then
    redis.call('HSET', waiting, digest, (before - 1) .. ' ' .. token)
  end
end
local seq = ms(redis.call('INCR', sequence))
redis.call('HSET', started, pid, seq .. ' ' .. owner)
return { 'started', task, seq }
