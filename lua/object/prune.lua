-- object/prune: removes jobs that have neither a record nor an outcome from those that refer to an object. Members of
-- flows stay as long as these are known: they may wait there, or be to run once more.
--
-- The script that ends a job removes its references. This is for what ended otherwise: by hand, or by an older version.
--
-- KEYS[1] object:<sha>:jobs, KEYS[2] jobs, KEYS[3] outcomes, KEYS[4] flows, KEYS[5] flows:away
-- ARGV[1..] ids
-- RETURNS how many were removed
-- FIRST WRITE SREM
local referring, jobs, outcomes, flows, away = unpack(KEYS)
local refusal = bad('SCARD', referring) or bad('HLEN', jobs) or bad('HLEN', outcomes) or bad('ZCARD', flows)
  or bad('ZCARD', away)
if refusal then return refusal end

-- in_flow tells whether a job is a member of a flow that is here, or is kept here for one that is elsewhere.
local function in_flow(id)
  local flow, lodged = id:match('^([^/]*)/'), id:match('^(.*)/@job$')
  return flow and redis.call('ZSCORE', flows, flow) or lodged and redis.call('ZSCORE', away, lodged)
end
local removed = 0
for i = 1, #ARGV do
  if redis.call('HEXISTS', jobs, ARGV[i]) == 0 and redis.call('HEXISTS', outcomes, ARGV[i]) == 0 then
    removed = removed + (in_flow(ARGV[i]) and 0 or redis.call('SREM', referring, ARGV[i]))
  end
end
return removed
