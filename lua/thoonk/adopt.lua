-- thoonk/adopt: claims for nobody those of the named jobs that are in no list, set or claim.
--
-- Released programs take a job out of its list before they note that they have it, and one that dies in between leaves
-- it nowhere. Who is just about to note it is not disturbed: the claim of nobody becomes theirs. If nobody does, it
-- lapses like any other.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.running:<feed>, KEYS[6] feed.claimed:<feed>, KEYS[7] feed.stalled:<feed>,
-- KEYS[8] feed.publishes:<feed>, KEYS[9] feed.tokens:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3..] ids; each is looked for in whole lists
-- RETURNS ids that were claimed
-- FIRST WRITE PERSIST (of the claims, which have no TTL: what follows must not be refused at full memory)
local feeds, config, ids, items, running, claimed, stalled, publishes, tokens = unpack(KEYS)
local name, known = ARGV[1], ARGV[2]
local refusal = unfit(feeds, 'set', config, 'string hash', ids, 'list', items, 'hash', running, 'list',
  claimed, 'hash zset', stalled, 'list set', tokens, 'hash') or outdated(feeds, name, config, known)
if refusal then return refusal end
local c = { running = running, claimed = claimed, tokens = tokens, sorted = as_set(claimed, known, publishes) }
local set = redis.call('TYPE', stalled).ok == 'set'
local time, adopted = ms(now()), {}
-- ASK HEXISTS HGET HSET LPOS LPUSH SISMEMBER ZADD ZSCORE
redis.call('PERSIST', claimed)

local function somewhere(id)
  if redis.call('LPOS', ids, id) or redis.call('LPOS', running, id) or mark(c, id) then return true end
  if set then return redis.call('SISMEMBER', stalled, id) == 1 end
  return redis.call('LPOS', stalled, id)
end

for i = 3, #ARGV do
  local id = ARGV[i]
  if redis.call('HEXISTS', items, id) == 1 and not somewhere(id) then
    if c.sorted then
      redis.call('ZADD', claimed, time, id)
    else
      redis.call('LPUSH', running, id)
      redis.call('HSET', claimed, id, time)
    end
    adopted[#adopted + 1] = id
  end
end
return adopted
