-- result/drop_outcome: removes what is kept of a job that has ended: its outcome, and its details.
--
-- KEYS[1] outcomes, KEYS[2] outcomes:until, KEYS[3] ended:<state>:<name>, KEYS[4] details:<state>:<name>
-- ARGV[1] id
-- ARGV[2] how its outcome begins, which says what the 3rd and the 4th key are
-- RETURNS dropped; gone: there is none; changed: it begins otherwise by now
-- FIRST WRITE ZREM
local outcomes, expiry, ended, details = unpack(KEYS)
local id, beginning = unpack(ARGV)

local refusal = bad('HLEN', outcomes) or bad('ZCARD', expiry) or bad('ZCARD', ended) or bad('HLEN', details)
if refusal then return refusal end
local kept = redis.call('HGET', outcomes, id)
if not kept then return 'gone' end
if kept:sub(1, #beginning) ~= beginning then return 'changed' end
-- ASK HDEL HSET UNLINK
redis.call('ZREM', expiry, id)
redis.call('HDEL', outcomes, id)
forget(ended, details, id)
return 'dropped'
