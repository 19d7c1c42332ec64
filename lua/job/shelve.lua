-- job/shelve: puts a job that is held on a shelf: retry or scheduled until it is due, morgue, or stalled until somebody
-- resumes it. One that is to be cancelled is left as it is: the caller ends it. With the morgue a job is over as far as
-- others wait for it, so they are told: those who wait for its outcome, and the readers of its completion queue. Its
-- lock is freed then, unless it is kept for jobs in the morgue too.
--
-- KEYS[1] claimed, KEYS[2] crashes, KEYS[3] names, KEYS[4] trail, KEYS[5] control,
-- KEYS[6] worker:<id>:inprocess:<name>, KEYS[7] retry, scheduled, morgue or stalled, KEYS[8] cancelled,
-- KEYS[9] running:<name>, KEYS[10] waited, KEYS[11] done, KEYS[12] unique
-- KEYS[13..] completion:<name> of each, at most one
-- ARGV[1] element
-- ARGV[2] queue
-- ARGV[3] ms until it is due; 0 for morgue and stalled
-- ARGV[4] new trail; empty leaves the one that is there
-- ARGV[5] 1: it was put off without an attempt, so its crashes are not forgotten
-- ARGV[6] 1: it is over
-- ARGV[7] digest of the lock that is to be freed, empty where there is none
-- RETURNS shelved, roomy: and its queue may have room now, gone: the claim is, or cancelled: it is to be
-- FIRST WRITE LREM
local claimed, crashes, names, trail, control, inprocess, shelf, cancelled, running, waited, done, unique, completion =
  unpack(KEYS)
local element, queue, delay, news, keep, over, digest = unpack(ARGV)

local refusal = bad('HLEN', claimed) or bad('HLEN', crashes) or bad('HLEN', names) or bad('HLEN', trail)
  or bad('LLEN', inprocess) or bad('ZCARD', shelf) or bad('SCARD', cancelled) or bad('SCARD', running)
  or bad('HLEN', waited) or bad('HLEN', unique) or completion and bad('LLEN', completion)
if refusal then return refusal end
local id = element:sub(element:find(':', 1, true) + 1)
if redis.call('SISMEMBER', cancelled, id) == 1 and redis.call('LPOS', inprocess, element, 'RANK', -1) then
  return 'cancelled'
end
if redis.call('LREM', inprocess, -1, element) == 0 then return 'gone' end

redis.call('HDEL', claimed, id)
if keep ~= '1' then redis.call('HDEL', crashes, id) end
redis.call('ZADD', shelf, turn(shelf, now() + tonumber(delay), id, {}), id)
redis.call('HSET', names, id, queue)
if news ~= '' then redis.call('HSET', trail, id, news) end
if tonumber(delay) > 0 and redis.call('ZRANGE', shelf, 0, 0)[1] == id then
  -- PRELUDE tell
  tell(control, 'due')
end
if over == '1' and redis.call('HDEL', waited, id) == 1 then
  -- PRELUDE tell
  tell(done, id)
end
if digest ~= '' and (redis.call('HGET', unique, digest) or ''):match('^(.*) %d+ %a$') == id then
  redis.call('HDEL', unique, digest)
end
if over == '1' and completion then
  redis.call('LPUSH', completion, 'dead ' .. id)
  redis.call('LTRIM', completion, 0, 999999) -- nobody may read it
  redis.call('PEXPIRE', completion, 7 * 24 * 3600 * 1000)
end
return redis.call('SREM', running, id) == 1 and 'roomy' or 'shelved'
