-- thoonk/take: takes the item at the front out of a queue.
--
-- It is never sent twice: the second one would take another item. An id without an item is dropped.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.counts:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- RETURNS {id, item}, or {} if nothing waits, or {''} if 500 ids without an item were dropped
-- FIRST WRITE RPOP
local feeds, config, ids, items, counts = unpack(KEYS)
local name, known = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', ids, 'list', items, 'hash')
  or outdated(feeds, name, config, known)
if refusal then return refusal end
-- ASK HDEL HGET HINCRBY
for _ = 1, 500 do
  local id = redis.call('RPOP', ids)
  if not id then return {} end
  local item = redis.call('HGET', items, id)
  if item then
    redis.call('HDEL', items, id)
    count(counts, 'taken')
    return { id, item }
  end
end
return { '' }
