-- thoonk/configure: gives a feed another config, if it has the one that the caller knows.
--
-- KEYS[1] feeds, KEYS[2] feed.config:<feed>, KEYS[3] conffeed
-- ARGV[1] name
-- ARGV[2] config that the caller knows
-- ARGV[3] new config
-- ARGV[4] instance
-- RETURNS 1; also if the feed has the new config already, which then is no event
-- FIRST WRITE SET, refused at full memory
local feeds, config, configured = unpack(KEYS)
local name, known, content, instance = unpack(ARGV)
local refusal = bad('SCARD', feeds) or bad('STRLEN', config)
if refusal then return refusal end
if redis.call('SISMEMBER', feeds, name) == 1 and redis.call('GET', config) == content then return 1 end
refusal = outdated(feeds, name, config, known)
if refusal then return refusal end
redis.call('SET', config, content)
redis.call('PUBLISH', configured, name .. '\0' .. instance)
return 1
