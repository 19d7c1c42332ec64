-- worqr/beat: renews a worker's timer, as SET workerTimers:<w> RUN EX 3 XX does. A timer that has lapsed is never
-- revived: the worker has to start anew. So has one that the released program has failed, which takes it out of
-- workers; a permanent one has no other sign of that.
--
-- KEYS[1] workerTimers:<w>, KEYS[2] leasedWorkers, KEYS[3] registrations, KEYS[4] workers
-- ARGV[1] worker
-- ARGV[2] registration
-- ARGV[3] ms that its timer lasts
-- RETURNS alive or lapsed
-- FIRST WRITE PEXPIRE
local timer, leased, registrations, workers = unpack(KEYS)
local worker, registration, life = unpack(ARGV)
local refusal = bad('SCARD', leased) or bad('HLEN', registrations)
if refusal then return refusal end

if redis.call('HGET', registrations, worker) ~= registration then return 'lapsed' end
if redis.call('SISMEMBER', workers, worker) == 0 then return 'lapsed' end
if redis.call('PEXPIRE', timer, life) == 0 and redis.call('SISMEMBER', leased, worker) == 1 then return 'lapsed' end
return 'alive'
