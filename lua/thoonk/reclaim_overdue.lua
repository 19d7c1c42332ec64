-- thoonk/reclaim_overdue: cancels or stalls those of the named jobs that were claimed too long ago.
--
-- A running job without a time of its claim (its worker of another program died in between) gets the present one, and
-- so the same patience as the others. What was retracted is removed, and never put back.
--
-- The oldest claims are at the tail of their list, and best named first: then none is looked for in the whole of it.
-- What is left in the hash of a claim that is over goes when it is too old. A claim that is not ours may be of a job
-- that its program has put back, or was just putting in: that one is looked for among the 10,000 at either end of those
-- that wait.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.running:<feed>, KEYS[6] feed.claimed:<feed>, KEYS[7] feed.cancelled:<feed>, KEYS[8] feed.stalled:<feed>,
-- KEYS[9] feed.publishes:<feed>, KEYS[10] feed.tokens:<feed>, KEYS[11] feed.published:<feed>,
-- KEYS[12] feed.counts:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] ms that a claim may be old
-- ARGV[4] how often a job may be cancelled before it is stalled; empty for any number
-- ARGV[5..] ids
-- RETURNS {ids that wait again, ids that are stalled}
-- FIRST WRITE PERSIST (of the claims, which have no TTL: what follows must not be refused at full memory)
local feeds, config, ids, items, running, claimed, cancelled, stalled, publishes, tokens, published,
  counts = unpack(KEYS)
local name, known, age, times = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local refusal = unfit(feeds, 'set', config, 'string hash', ids, 'list', items, 'hash', running, 'list',
  claimed, 'hash zset', cancelled, 'hash string', stalled, 'list set', tokens, 'hash', published, 'zset')
  or outdated(feeds, name, config, known)
if refusal then return refusal end
local c = { running = running, claimed = claimed, tokens = tokens, sorted = as_set(claimed, known, publishes) }
local set = as_set(stalled, known, publishes)
local present, waiting, parked = now(), {}, {}
-- ASK HDEL HEXISTS HGET HINCRBY HSET INCR LPOS LPUSH LREM RPUSH SADD ZREM ZSCORE
redis.call('PERSIST', claimed)

local function waits(id)
  return redis.call('LPOS', ids, id, 'MAXLEN', 10000) or redis.call('LPOS', ids, id, 'RANK', -1, 'MAXLEN', 10000)
end

local function reclaim(id)
  local mine = (mark(c, id) or ''):find('%.' .. ('%d'):rep(20) .. '$')
  if redis.call('LREM', running, -1, id) + release(c, id) == 0 then return end
  if redis.call('HEXISTS', items, id) == 0 then return forget_cancels(cancelled, id) end
  if times and cancels(cancelled, id) >= times then
    park(stalled, id, set, cancelled, published)
    parked[#parked + 1] = id
  else
    count_cancel(cancelled, id)
    if mine or not waits(id) then redis.call('LPUSH', ids, id) end
    waiting[#waiting + 1] = id
  end
end

for i = 5, #ARGV do
  local id = ARGV[i]
  local since = tonumber(mark(c, id) or '')
  if since and since < 1e11 then since = since * 1000 end -- other programs write seconds
  if redis.call('HEXISTS', items, id) == 0 or since and present - since >= age then
    reclaim(id)
  elseif not since and c.sorted then
    release(c, id) -- of which only a token is left
  elseif not since and redis.call('LPOS', running, id) then
    redis.call('HSET', claimed, id, ms(present))
  end
end
if #waiting + #parked > 0 then count(counts, 'lapsed', #waiting + #parked) end
return { waiting, parked }
