-- repair/rename_broken: gives a key of a wrong type another name, so that nothing in it is lost and the key can be used
-- again.
--
-- KEYS[1] jobs, trail, queues, ready, scheduled, retry, names, morgue, outcomes, outcomes:until, workers, dead,
--   claimed, crashes, lanes, lease, deputy, deadlines, served, epoch, queue:<name>, wake:<name>, worker:<id>,
--   worker:<id>:queues, worker:<id>:info, worker:<id>:running or worker:<id>:inprocess:<name>
-- KEYS[2] queue:<name>:broken:<ms> or the like
-- ARGV[1] type that the key should have
-- RETURNS 1 if it was renamed, 0 if it is gone, has the right type, or the new name is taken
-- FIRST WRITE PERSIST (of the key, so that what is set aside stays)
local is = redis.call('TYPE', KEYS[1])
is = is.ok or is
if is == 'none' or is == ARGV[1] or redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
-- ASK RENAME
redis.call('PERSIST', KEYS[1])
redis.call('RENAME', KEYS[1], KEYS[2])
return 1
