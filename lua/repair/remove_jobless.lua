-- repair/remove_jobless: removes entries that belong to a job which is gone: of its record, or of the claim of a
-- worker.
--
-- KEYS[1] trail, crashes, names or worker:<id>:running
-- KEYS[2] jobs or claimed
-- ARGV[1] worker whose claims they belong to; empty where they belong to records
-- ARGV[2..] ids
-- RETURNS how many were removed
-- FIRST WRITE HDEL
local refusal = bad('HLEN', KEYS[1]) or bad('HLEN', KEYS[2])
if refusal then return refusal end
local removed = 0
for i = 2, #ARGV do
  local belongs
  if ARGV[1] == '' then
    belongs = redis.call('HEXISTS', KEYS[2], ARGV[i]) == 1
  else
    belongs = (redis.call('HGET', KEYS[2], ARGV[i]) or ''):find(ARGV[1] .. ' ', 1, true) == 1
  end
  if not belongs then removed = removed + redis.call('HDEL', KEYS[1], ARGV[i]) end
end
return removed
