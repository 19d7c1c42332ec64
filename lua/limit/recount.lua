-- limit/recount: makes the set of the ids that count towards a limit agree with the claims, as far as the ids that are
-- named go.
--
-- It counts what was claimed before the queue had a rule, and takes out what a worker that knew of no rule has ended.
--
-- Jobs of a name count whatever labels they need. What a worker of another partition holds (foreign) counts as held. It
-- is looked for only of ids without a claim.
--
-- KEYS[1] running:<name>, KEYS[2] claimed, KEYS[3] foreign
-- ARGV[1] name
-- ARGV[2..] ids, at most 500
-- RETURNS how many were counted and are held by nobody
-- FIRST WRITE SREM
local running, claimed, foreign = unpack(KEYS)
local name = ARGV[1]
local refusal = bad('SCARD', running) or bad('HLEN', claimed) or bad('HLEN', foreign)
if refusal then return refusal end

local held, gone = {}, {}
for i, claim in ipairs(redis.call('HMGET', claimed, unpack(ARGV, 2))) do
  local id = ARGV[i + 1]
  local of = claim and claim:match('^%S+ %S+ %S+ (.*)$')
    or not claim and (redis.call('HGET', foreign, id) or ''):match('^%d+ ([^%z]*)%z')
  local ids = of and rule_name(of) == name and held or gone
  ids[#ids + 1] = id
end
-- ASK SADD
-- of an id that is never there, so that this comes first in any case
local removed = redis.call('SREM', running, '', unpack(gone))
if #held > 0 then redis.call('SADD', running, unpack(held)) end
return removed
