-- thoonk/delete: removes a feed with all its keys, once no lists of results are left but those that are named.
--
-- The caller reads the ids that have such lists. A feed with more than one call may name loses them in steps, and is
-- itself removed by the last one, so that a deletion which stopped half way is finished by another.
--
-- KEYS[1] feeds, KEYS[2] feed.jobresults:<feed>, KEYS[3] delfeed, KEYS[4] feed.config:<feed>, KEYS[5] feed.ids:<feed>,
-- KEYS[6] feed.items:<feed>, KEYS[7] feed.running:<feed>, KEYS[8] feed.claimed:<feed>, KEYS[9] feed.cancelled:<feed>,
-- KEYS[10] feed.stalled:<feed>, KEYS[11] feed.idincr:<feed>, KEYS[12] feed.publishes:<feed>,
-- KEYS[13] feed.published:<feed>, KEYS[14] feed.finishes:<feed>, KEYS[15] feed.tokens:<feed>,
-- KEYS[16] feed.counts:<feed>
-- KEYS[17..] feed.jobfinished:<feed>:<id> or feed.jobfinished:<feed>\0<id> of each id
-- ARGV[1] name
-- ARGV[2] instance
-- ARGV[3..] ids
-- RETURNS 1 if it was removed, 0 if other lists of results are left, -1 if there is no such feed
-- FIRST WRITE SREM
local feeds, results, deleted = unpack(KEYS, 1, 3)
local name, instance = ARGV[1], ARGV[2]
local refusal = unfit(feeds, 'set', results, 'set')
if refusal then return refusal end
if redis.call('SISMEMBER', feeds, name) == 0 then return -1 end
-- ASK SCARD UNLINK
for i = 3, #ARGV do
  redis.call('SREM', results, ARGV[i])
  redis.call('UNLINK', KEYS[11 + 2 * i], KEYS[12 + 2 * i])
end
if redis.call('SCARD', results) > 0 then return 0 end
redis.call('SREM', feeds, name)
redis.call('UNLINK', unpack(KEYS, 4, 16))
redis.pcall('PUBLISH', deleted, name .. '\0' .. instance)
return 1
