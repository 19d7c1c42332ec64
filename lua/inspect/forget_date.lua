-- inspect/forget_date: takes away when a queue was to be destroyed, once that is done to its end.
--
-- It comes last: as long as there is a date, whoever does the maintenance goes on with what another has left.
--
-- KEYS[1] doomed
-- ARGV[1] name of the queue
-- ARGV[2] for when it was destroyed, by its score: a later date that somebody has set stays. Empty: at once, and so
--   there is no date any more
-- RETURNS 1, or 0 where no such date stands
-- FIRST WRITE ZREM
local doomed = KEYS[1]
local refusal = bad('ZCARD', doomed)
if refusal then return refusal end
if ARGV[2] == '' or redis.call('ZSCORE', doomed, ARGV[1]) == ARGV[2] then return redis.call('ZREM', doomed, ARGV[1]) end
return 0
