-- object/prune: removes jobs that have neither a record nor an outcome from those that refer to an object.
--
-- The script that ends a job removes its references. This is for what ended otherwise: by hand, or by an older version.
--
-- KEYS[1] object:<sha>:jobs, KEYS[2] jobs, KEYS[3] outcomes
-- ARGV[1..] ids
-- RETURNS how many were removed
-- FIRST WRITE SREM
local referring, jobs, outcomes = unpack(KEYS)
local refusal = bad('SCARD', referring) or bad('HLEN', jobs) or bad('HLEN', outcomes)
if refusal then return refusal end
local removed = 0
for i = 1, #ARGV do
  if redis.call('HEXISTS', jobs, ARGV[i]) == 0 and redis.call('HEXISTS', outcomes, ARGV[i]) == 0 then
    removed = removed + redis.call('SREM', referring, ARGV[i])
  end
end
return removed
