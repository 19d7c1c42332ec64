-- thoonk/finish: ends a job that is claimed, and keeps its result if there is one.
--
-- A result that was kept under the same id before gives way, also to none. Only below an id with a colon, which other
-- programs may choose, nothing is removed: the list of that name may be that of another feed, and we keep no result
-- there. Item and result stand in one element with a NUL between them; only where the item itself has a NUL a second
-- element says how long it is. Where claims are a sorted set and the config is none of a hash, the result alone stands
-- also where other programs wait for it, who take it out.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.items:<feed>, KEYS[4] feed.running:<feed>,
-- KEYS[5] feed.claimed:<feed>, KEYS[6] feed.cancelled:<feed>, KEYS[7] feed.jobresults:<feed>,
-- KEYS[8] job.finish:<feed>, KEYS[9] feed.jobfinished:<feed>:<id>, KEYS[10] feed.jobfinished:<feed>\0<id>,
-- KEYS[11] feed.publishes:<feed>, KEYS[12] feed.tokens:<feed>, KEYS[13] feed.published:<feed>,
-- KEYS[14] feed.finishes:<feed>, KEYS[15] feed.counts:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- ARGV[4] time of the claim; empty ends any claim
-- ARGV[5] ms for which the result is kept; 0 if there is none
-- ARGV[6] result
-- RETURNS 1 if it ended, 0 if the claim is gone
-- FIRST WRITE LREM
local feeds, config, items, running, claimed, cancelled, results, finished, list, taken, publishes, tokens, published,
  finishes, counts = unpack(KEYS)
local name, known, id, time, keep, result = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', items, 'hash', running, 'list', claimed, 'hash zset',
  cancelled, 'hash string', results, 'set', list, 'list', taken, 'list', tokens, 'hash', published, 'zset',
  finishes, 'string') or outdated(feeds, name, config, known)
if refusal then return refusal end
local c = { running = running, claimed = claimed, tokens = tokens, sorted = as_set(claimed, known, publishes) }
if time ~= '' and mark(c, id) ~= time then return 0 end
local item = redis.call('HGET', items, id) or ''
-- ASK HDEL HINCRBY SREM UNLINK ZREM
if c.sorted then
  -- ASK INCR
end
if keep ~= '0' then
  -- ASK PEXPIRE RPUSH SADD
end
if redis.call('LREM', running, 1, id) + release(c, id) == 0 then return 0 end
forget_cancels(cancelled, id)
redis.call('HDEL', items, id)
redis.call('ZREM', published, id)
if c.sorted then redis.pcall('INCR', finishes) end
count(counts, 'finished')
redis.call('UNLINK', taken)
if not id:find(':', 1, true) then
  redis.call('UNLINK', list)
  redis.call('SREM', results, id)
end
redis.pcall('PUBLISH', finished, id .. '\0' .. result)
if keep == '0' then return 1 end
redis.call('RPUSH', list, item .. '\0' .. result)
if item:find('\0', 1, true) then redis.call('RPUSH', list, #item) end
redis.call('PEXPIRE', list, keep)
redis.call('SADD', results, id)
if c.sorted and known:sub(1, 1) ~= '\0' then
  redis.call('RPUSH', taken, result)
  redis.call('PEXPIRE', taken, keep)
end
return 1
