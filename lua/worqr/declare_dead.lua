-- worqr/declare_dead: takes a worker's timer away, so that it counts as dead, its tasks can be put back, and it cannot
-- go on. Anyone may go on with that from here. One that the released program has failed is dead too: it is not in
-- workers any longer, and its tasks are with nobody.
--
-- KEYS[1] workerTimers:<w>, KEYS[2] leasedWorkers, KEYS[3] registrations, KEYS[4] workers
-- ARGV[1] worker
-- ARGV[2] 1: also if it is alive
-- RETURNS dead, alive, or unknown: gone, or a worker of another program
-- FIRST WRITE UNLINK
local timer, leased, registrations, workers = unpack(KEYS)
local worker, force = unpack(ARGV)
local refusal = bad('SCARD', leased) or bad('HLEN', registrations)
if refusal then return refusal end

if redis.call('HEXISTS', registrations, worker) == 0 then return 'unknown' end
local alive = redis.call('SISMEMBER', workers, worker) == 1
  and (redis.call('EXISTS', timer) == 1 or redis.call('SISMEMBER', leased, worker) == 0)
if alive and force ~= '1' then return 'alive' end
redis.call('UNLINK', timer)
redis.call('SADD', leased, worker)
return 'dead'
