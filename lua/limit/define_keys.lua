-- limit/define_keys: puts a rule of keys into force, or takes it away, if what is there is still what the caller has
-- read. There is one rule at a time, so that of two programs which declare another one each only the last counts.
--
-- While no key has a rule no job is given a place of its key. So before the first rule there comes a count, as the
-- field NUL says: from then on each fetch gives places, and the caller gives those that were claimed before theirs; the
-- rule is in force when the caller comes again. Who dies in between leaves the count to the next one. The count ends
-- with the last rule.
--
-- KEYS[1] keyrules, KEYS[2] lanes
-- ARGV[1] version of the map of the partitions by which its caller goes, 0 where it knows none
-- ARGV[2] name of the queue; behind a NUL a key, if the rule is about that alone
-- ARGV[3] rule that the caller has read, empty where there was none
-- ARGV[4] new rule, empty takes it away
-- ARGV[5] how many keys may have a rule of their own
-- ARGV[6] the count that the caller has done, empty for none
-- ARGV[7] the name of one that begins now, which no other has
-- RETURNS 1 if the rule is now the new one, 0 if it is another one than the caller has read; full: too many keys have
--   one; "count <count>": that is to be done first. The error ROUTE with the version of a newer map
-- FIRST WRITE HDEL
local rules = KEYS[1]
local of, before, after, most, done, new = unpack(ARGV, 2, 7)
local refusal, many = bad('HLEN', rules)
refusal = refusal or elsewhere(redis.call('HGET', KEYS[2], ''), ARGV[1])
if refusal then return refusal end
local present, count = unpack(redis.call('HMGET', rules, of, '\0'))
present = present or ''
if present == after then return 1 end
if present ~= before then return 0 end
if present == '' and of:find('\0', 1, true) and many - (count and 1 or 0) >= tonumber(most) then return 'full' end
if after == '' then
  redis.call('HDEL', rules, of)
  if many == 2 then redis.call('HDEL', rules, '\0') end -- nothing else is left
  return 1
end
-- ASK HSET
if count ~= 'done' and (not count or count ~= done) then
  if not count then
    count = new
    redis.call('HDEL', rules, '\0')
    redis.call('HSET', rules, '\0', count)
  end
  return 'count ' .. count
end
redis.call('HDEL', rules, of)
redis.call('HSET', rules, of, after, '\0', 'done')
return 1
