-- limit/recount: makes the set of the ids that count towards a limit agree with the claims, as far as the ids that are
-- named go.
--
-- It counts what was claimed before the queue had a rule, and takes out what a worker that knew of no rule has ended.
--
-- KEYS[1] running:<name>, KEYS[2] claimed
-- ARGV[1] name
-- ARGV[2..] ids, at most 500
-- RETURNS how many were counted and are held by nobody
-- FIRST WRITE SREM
local running, claimed = unpack(KEYS)
local name = ARGV[1]
local refusal = bad('SCARD', running) or bad('HLEN', claimed)
if refusal then return refusal end

local held, gone = {}, {}
for i, claim in ipairs(redis.call('HMGET', claimed, unpack(ARGV, 2))) do
  local of = claim and claim:match('^%S+ %S+ %S+ (.*)$')
  local ids = of == name and held or gone
  ids[#ids + 1] = ARGV[i + 1]
end
-- of an id that is never there, so that this comes first in any case
local removed = redis.call('SREM', running, '', unpack(gone))
if #held > 0 then redis.call('SADD', running, unpack(held)) end
return removed
