-- thoonk/claim: claims the job at the front of a job feed.
--
-- The time of the claim ends with a token of the caller, so that each claim is another one, and a caller that got no
-- answer can look for its own. It is never sent twice. An id without an item was retracted, and is dropped; so is a
-- second copy of an id that somebody holds by this package, which other programs may put there. A claim is told on the
-- channel that has the name of the claims.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.running:<feed>, KEYS[6] feed.claimed:<feed>, KEYS[7] feed.cancelled:<feed>,
-- KEYS[8] feed.publishes:<feed>, KEYS[9] feed.tokens:<feed>, KEYS[10] feed.counts:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] token, of digits
-- RETURNS {id, item, time of the claim, how often it was cancelled}, or {} if nothing waits, or {''} if 500 ids were
--   dropped
-- FIRST WRITE RPOP
local feeds, config, ids, items, running, claimed, cancelled, publishes, tokens, counts = unpack(KEYS)
local name, known, token = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', ids, 'list', items, 'hash', running, 'list',
  claimed, 'hash zset', cancelled, 'hash string', tokens, 'hash') or outdated(feeds, name, config, known)
if refusal then return refusal end
local c = { running = running, claimed = claimed, tokens = tokens, sorted = as_set(claimed, known, publishes) }
-- ASK HGET HINCRBY HSET TIME
if c.sorted then
  -- ASK ZADD ZSCORE
else
  -- ASK LPOS LPUSH
end
for _ = 1, 500 do
  local id = redis.call('RPOP', ids)
  if not id then return {} end
  local item = redis.call('HGET', items, id)
  if item and not is_ours(c, id) then
    local time = hold(c, id, token)
    count(counts, 'claimed')
    redis.pcall('PUBLISH', claimed, id)
    return { id, item, time, cancels(cancelled, id) }
  end
end
return { '' }
