-- recurring/delete: removes a set of recurring items.
--
-- KEYS[1] recurrings, KEYS[2] recurring.config:<name>, KEYS[3] recurring:<name>
-- ARGV[1] name
-- RETURNS 1 if it was removed, 0 if there is no such set
-- FIRST WRITE SREM
local sets, config, items = unpack(KEYS)
local refusal = bad('SCARD', sets)
if refusal then return refusal end
-- ASK UNLINK
local removed = redis.call('SREM', sets, ARGV[1])
redis.call('UNLINK', config, items)
return removed
