-- thoonk/configure: gives a feed another config, if it has the one that the caller knows.
--
-- The form of the config stays. The rest can be given that of the released programs while no job is claimed or stalled;
-- what they have published in vain is in the items of a leaf, and in no list.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] conffeed, KEYS[4] feed.publishes:<feed>, KEYS[5] feed.ids:<feed>,
-- KEYS[6] feed.claimed:<feed>, KEYS[7] feed.stalled:<feed>, KEYS[8] feed.items:<feed>
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] new config, in the same form
-- ARGV[4] instance
-- ARGV[5] what is to have the form of the released programs: "leaf", "other", or nothing
-- RETURNS 1; also if the feed has the new config already, which then is no event
-- FIRST WRITE SET or HSET, refused at full memory
local feeds, config, configured, publishes, ids, claimed, stalled, items = unpack(KEYS)
local name, known, content, instance, released_form = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', publishes, 'string')
  or released_form ~= '' and unfit(claimed, 'zset', stalled, 'set')
  or released_form == 'leaf' and unfit(ids, 'list zset', items, 'hash')
if refusal then return refusal end
local same = not outdated(feeds, name, config, content)
refusal = not same and outdated(feeds, name, config, known)
if refusal then return refusal end
-- ASK HDEL HKEYS LRANGE SETNX TIME UNLINK ZADD
if not same and content:sub(1, 1) == '\0' then
  local fields, kept = unframed(content), {}
  redis.call('HSET', config, unpack(fields))
  for i = 1, #fields, 2 do kept[fields[i]] = true end
  for _, field in ipairs(redis.call('HKEYS', config)) do
    if not kept[field] then redis.call('HDEL', config, field) end
  end
elseif not same then
  redis.call('SET', config, content)
end
if released_form ~= '' then redis.call('SETNX', publishes, 0) end
if released_form == 'leaf' and redis.call('TYPE', ids).ok == 'list' then
  local listed, time = redis.call('LRANGE', ids, 0, -1), now()
  redis.call('UNLINK', ids)
  for i, id in ipairs(listed) do redis.call('ZADD', ids, ms(time - i), id) end
  for _, id in ipairs(redis.call('HKEYS', items)) do redis.call('ZADD', ids, 'NX', ms(time), id) end
end
if not same then redis.pcall('PUBLISH', configured, name .. '\0' .. instance) end
return 1
