-- thoonk/create: makes a feed of that name known, with its config, unless there is one.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] newfeed
-- ARGV[1] name
-- ARGV[2] config
-- ARGV[3] instance
-- RETURNS 1 if it was created, 0 if it is there already
-- FIRST WRITE SADD, refused at full memory
local feeds, config, created = unpack(KEYS)
local name, content, instance = unpack(ARGV)
local refusal = bad('SCARD', feeds) or bad('STRLEN', config)
if refusal then return refusal end
if redis.call('SADD', feeds, name) == 0 then return 0 end
redis.call('SET', config, content)
redis.call('PUBLISH', created, name .. '\0' .. instance)
return 1
