-- repair/remove_flags: finds flags of cancellation that belong to no job, and removes them.
--
-- KEYS[1] cancelled, KEYS[2] jobs
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2..] ids
-- RETURNS the ids that have no record
-- FIRST WRITE SREM
local cancelled, jobs = unpack(KEYS)
local refusal = bad('SCARD', cancelled) or bad('HLEN', jobs)
if refusal then return refusal end
local stray = {}
for i = 2, #ARGV do
  if redis.call('HEXISTS', jobs, ARGV[i]) == 0 and redis.call('SISMEMBER', cancelled, ARGV[i]) == 1 then
    stray[#stray + 1] = ARGV[i]
    if ARGV[1] == '1' then redis.call('SREM', cancelled, ARGV[i]) end
  end
end
return stray
