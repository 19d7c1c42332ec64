-- worqr/forget: removes what is left of a dead worker, once it holds nothing. The released program may have removed
-- workingQueues:<w> before, so servedQueues:<w> says too where tasks of it may be.
--
-- KEYS[1] workerTimers:<w>, KEYS[2] leasedWorkers, KEYS[3] registrations, KEYS[4] workers, KEYS[5] permanentWorkers,
-- KEYS[6] workingQueues:<w>, KEYS[7] voidedProcesses:<w>, KEYS[8] servedQueues:<w>
-- KEYS[9..] workingProcesses:<w>:<q>, startedProcesses:<w>:<q> of each queue
-- ARGV[1] worker
-- ARGV[2..] queues that it serves, as they were read
-- RETURNS forgotten, alive, or again if it holds tasks or serves other queues
-- FIRST WRITE SREM
local timer, leased, registrations, workers, permanent, serves, voided, served = unpack(KEYS, 1, 8)
local worker = ARGV[1]
local refusal = bad('SCARD', leased) or bad('HLEN', registrations) or bad('SCARD', workers) or bad('SCARD', permanent)
  or bad('SCARD', serves) or bad('SCARD', served)
for i = 9, #KEYS, 2 do refusal = refusal or bad('SCARD', KEYS[i]) end
if refusal then return refusal end

if redis.call('HEXISTS', registrations, worker) == 0 then return 'forgotten' end
if redis.call('SISMEMBER', leased, worker) == 0 or redis.call('EXISTS', timer) == 1 then return 'alive' end
local unread = redis.call('SCARD', serves) + redis.call('SCARD', served)
for i = 2, #ARGV do
  if redis.call('SCARD', KEYS[2 * i + 5]) > 0 then return 'again' end
  unread = unread - redis.call('SISMEMBER', serves, ARGV[i]) - redis.call('SISMEMBER', served, ARGV[i])
end
if unread > 0 then return 'again' end
-- ASK HDEL UNLINK
redis.call('SREM', workers, worker)
redis.call('SREM', permanent, worker)
redis.call('SREM', leased, worker)
redis.call('HDEL', registrations, worker)
redis.call('UNLINK', serves, voided, unpack(KEYS, 8))
return 'forgotten'
