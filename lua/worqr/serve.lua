-- worqr/serve: notes that a worker serves a queue, and tells how many tasks wait in it already.
--
-- It is noted twice: the released program removes its own set when it fails a worker, and what the worker holds is
-- found by the other.
--
-- KEYS[1] workerTimers:<w>, KEYS[2] leasedWorkers, KEYS[3] registrations, KEYS[4] workingQueues:<w>,
-- KEYS[5] knownQueues, KEYS[6] queues:<q>, KEYS[7] servedQueues:<w>, KEYS[8] workers
-- ARGV[1] worker
-- ARGV[2] queue
-- ARGV[3] registration
-- ARGV[4] ms that its timer lasts
-- RETURNS {serving, how many tasks wait} or {lapsed}
-- FIRST WRITE PEXPIRE
local timer, leased, registrations, serves, known, queue, served, workers = unpack(KEYS)
local worker, name, registration, life = unpack(ARGV)
local refusal = bad('SCARD', leased) or bad('HLEN', registrations) or bad('SCARD', serves) or bad('SCARD', known)
  or bad('LLEN', queue) or bad('SCARD', served)
if refusal then return refusal end

if redis.call('HGET', registrations, worker) ~= registration then return { 'lapsed' } end
if redis.call('SISMEMBER', workers, worker) == 0 then return { 'lapsed' } end
if redis.call('PEXPIRE', timer, life) == 0 and redis.call('SISMEMBER', leased, worker) == 1 then return { 'lapsed' } end
redis.call('SADD', served, name)
redis.call('SADD', serves, name)
redis.call('SADD', known, name)
return { 'serving', redis.call('LLEN', queue) }
