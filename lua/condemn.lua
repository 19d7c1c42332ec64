-- condemn: decides that a worker is dead and takes it out of workers: from then on no fetch of it is answered, and
-- whoever likes puts its jobs back.
--
-- A reaper that was itself away (its heartbeat lapsed or began less than a few seconds ago) is no judge: Redis was
-- away, and everybody's key is gone.
--
-- KEYS[1] worker:<target>, KEYS[2] worker:<reaper>, KEYS[3] workers, KEYS[4] dead
-- ARGV[1] target
-- ARGV[2] ms for which the reaper must have been steady
-- RETURNS dead, alive or unsteady
-- FIRST WRITE SREM
local target, reaper, workers, dead = unpack(KEYS)

local since = redis.call('GET', reaper)
since = since and since:match('^RUN (%d+)$')
if not since or now() - tonumber(since) < tonumber(ARGV[2]) then return 'unsteady' end
if redis.call('SISMEMBER', dead, ARGV[1]) == 1 then return 'dead' end
if redis.call('EXISTS', target) == 1 then return 'alive' end
local refusal = bad('SCARD', workers) or bad('SCARD', dead)
if refusal then return refusal end
if redis.call('SREM', workers, ARGV[1]) == 0 then return 'alive' end
redis.call('SADD', dead, ARGV[1])
return 'dead'
