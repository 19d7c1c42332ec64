-- thoonk/move: gives an item of a sorted feed another position.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] feed.ids:<feed>, KEYS[4] feed.items:<feed>,
-- KEYS[5] feed.position:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] id
-- ARGV[4] position: "begin:", ":end", ":<id>" before another item, "<id>:" after another one
-- RETURNS 1 if it was moved, 0 if there is no such item, -1 if the item of the position is missing
-- FIRST WRITE LREM
local feeds, config, ids, items, positioned = unpack(KEYS)
local name, known, id, position = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', ids, 'list', items, 'hash')
  or outdated(feeds, name, config, known)
if refusal then return refusal end
if redis.call('HEXISTS', items, id) == 0 then return 0 end
local before, after = position:match('^:(%d+)$'), position:match('^(%d+):$')
local beside = before or after
if beside and (beside == id or not redis.call('LPOS', ids, beside)) then return -1 end
-- ASK LINSERT LPUSH RPUSH
redis.call('LREM', ids, 1, id)
if beside then
  redis.call('LINSERT', ids, before and 'BEFORE' or 'AFTER', beside, id)
else
  redis.call(position == 'begin:' and 'LPUSH' or 'RPUSH', ids, id)
end
redis.pcall('PUBLISH', positioned, id .. '\0' .. position)
return 1
