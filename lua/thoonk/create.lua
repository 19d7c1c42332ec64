-- thoonk/create: makes a feed of that name known, with its config, unless there is one.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] newfeed, KEYS[4] feed.publishes:<feed>,
-- KEYS[5] feed.tokens:<feed>, KEYS[6] feed.counts:<feed>
-- ARGV[1] name
-- ARGV[2] config; behind a NUL the framed fields and values of one that is a hash
-- ARGV[3] instance
-- ARGV[4] 1: in the form of the released programs, also where the config is no hash
-- RETURNS 1 if it was created, 0 if it is there already
-- FIRST WRITE SADD, refused at full memory
local feeds, config, created, publishes, tokens, counts = unpack(KEYS)
local name, content, instance, counted = unpack(ARGV)
local refusal = unfit(feeds, 'set', config, 'string hash', publishes, 'string')
if refusal then return refusal end
-- ASK HSET SET SETNX UNLINK
if redis.call('SADD', feeds, name) == 0 then return 0 end
redis.call('UNLINK', config, tokens, counts) -- other programs delete what they know of
if content:sub(1, 1) == '\0' then
  redis.call('HSET', config, unpack(unframed(content)))
else
  redis.call('SET', config, content)
end
if counted == '1' then redis.call('SETNX', publishes, 0) end
redis.pcall('PUBLISH', created, name .. '\0' .. instance)
return 1
