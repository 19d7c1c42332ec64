-- repair/free_locks: removes locks that hold nothing any more: their time is over, their owner has no record, or they
-- cannot be read. An owner that another partition still has in hand keeps its own.
--
-- KEYS[1] unique, KEYS[2] jobs, KEYS[3] foreign
-- ARGV[1..] digests
-- RETURNS how many were removed
-- FIRST WRITE HDEL
local unique, jobs, foreign = unpack(KEYS)
local refusal = bad('HLEN', unique) or bad('HLEN', jobs) or bad('HLEN', foreign)
if refusal then return refusal end
local removed, time = 0, now()
for _, digest in ipairs(ARGV) do
  local owner, ends, kind = (redis.call('HGET', unique, digest) or ''):match('^(.*) (%d+) (%a)$')
  local over = ends and ends ~= '0' and tonumber(ends) <= time
  if not owner or over or kind ~= 't' and redis.call('HEXISTS', jobs, owner) == 0
    and redis.call('HEXISTS', foreign, owner) == 0 then
    removed = removed + redis.call('HDEL', unique, digest)
  end
end
return removed
