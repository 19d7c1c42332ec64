-- shelve: puts a job that is held on a shelf: retry or scheduled until it is due, or morgue.
--
-- KEYS[1] claimed, KEYS[2] crashes, KEYS[3] names, KEYS[4] trail, KEYS[5] control,
-- KEYS[6] worker:<id>:inprocess:<name>, KEYS[7] retry, scheduled or morgue
-- ARGV[1] element
-- ARGV[2] queue
-- ARGV[3] ms until it is due; 0 for the morgue
-- ARGV[4] new trail; empty leaves the one that is there
-- ARGV[5] 1: it was put off without an attempt, so its crashes are not forgotten
-- RETURNS 1, or 0 if the claim is gone
-- FIRST WRITE LREM
local claimed, crashes, names, trail, control, inprocess, shelf = unpack(KEYS)
local element, queue, delay, news, keep = unpack(ARGV)

local refusal = bad('HLEN', claimed) or bad('HLEN', crashes) or bad('HLEN', names) or bad('HLEN', trail)
  or bad('LLEN', inprocess) or bad('ZCARD', shelf)
if refusal then return refusal end
if redis.call('LREM', inprocess, -1, element) == 0 then return 0 end

local id = element:sub(element:find(':', 1, true) + 1)
redis.call('HDEL', claimed, id)
if keep ~= '1' then redis.call('HDEL', crashes, id) end
redis.call('ZADD', shelf, ms(now() + tonumber(delay)), id)
redis.call('HSET', names, id, queue)
if news ~= '' then redis.call('HSET', trail, id, news) end
if tonumber(delay) > 0 and redis.call('ZRANGE', shelf, 0, 0)[1] == id then redis.call('PUBLISH', control, 'due') end
return 1
