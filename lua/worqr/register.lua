-- worqr/register: makes a worker known, under a random registration that tells it from another one of the same id.
--
-- To the released program it is a permanent worker, which that never fails. Here it has a timer, unless it is to be
-- permanent here as well. What is left of one that the released program has failed has to be put back first.
--
-- KEYS[1] workerTimers:<w>, KEYS[2] leasedWorkers, KEYS[3] registrations, KEYS[4] workers, KEYS[5] permanentWorkers
-- ARGV[1] worker
-- ARGV[2] registration
-- ARGV[3] ms that its timer lasts; 0 for a permanent worker
-- RETURNS registered, taken by another worker, or dead: what is left of that id has to be failed first
-- FIRST WRITE PEXPIRE (of a key that may not be there)
local timer, leased, registrations, workers, permanent = unpack(KEYS)
local worker, registration, life = unpack(ARGV)
local refusal = bad('SCARD', leased) or bad('HLEN', registrations) or bad('SCARD', workers) or bad('SCARD', permanent)
if refusal then return refusal end

local present = redis.call('HGET', registrations, worker)
local known = redis.call('SISMEMBER', workers, worker) == 1
if not present and known then return 'taken' end
if present and not known then return 'dead' end
if present and redis.call('SISMEMBER', leased, worker) == 1 and redis.call('EXISTS', timer) == 0 then return 'dead' end
if present and present ~= registration then return 'taken' end

-- ASK HSET SADD SET
local renewed = redis.call('PEXPIRE', timer, life) == 1
if life ~= '0' then
  if not renewed then redis.call('SET', timer, 'RUN', 'PX', life) end
  redis.call('SADD', leased, worker)
end
redis.call('HSET', registrations, worker, registration)
redis.call('SADD', workers, worker)
redis.call('SADD', permanent, worker)
return 'registered'
