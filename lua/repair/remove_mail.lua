-- repair/remove_mail: removes mailboxes of jobs that have no record. A job that has asked for a message takes its
-- mailbox along when it ends; what was sent to one that never asked is left for this script. What was sent just now may
-- be for a job that is on its way to here.
--
-- KEYS[1] mailed, KEYS[2] jobs
-- KEYS[3..] mail:<id> of each id
-- ARGV[1] for how many ms a mailbox stays after its last message in any case
-- ARGV[2..] ids
-- RETURNS how many were removed
-- FIRST WRITE UNLINK
local mailed, jobs = KEYS[1], KEYS[2]
local refusal = bad('HLEN', mailed) or bad('HLEN', jobs)
if refusal then return refusal end
local removed, before = 0, now() - tonumber(ARGV[1])
for i = 2, #ARGV do
  local id = ARGV[i]
  local sent = redis.call('HGET', mailed, id)
  if sent and (tonumber(sent) or 0) < before and redis.call('HEXISTS', jobs, id) == 0 then
    removed = removed + redis.call('UNLINK', KEYS[i + 1])
    redis.call('HDEL', mailed, id) -- last: by it a call that was refused is gone on with
  end
end
return removed
