-- inspect/forget_ended: removes jobs of one name that have ended in one state, oldest first, with their outcomes.
--
-- An outcome that begins otherwise is of a newer job of the id, and stays. Those with results may be large, and each is
-- looked at: so a call ends behind the one with which they are too many bytes.
--
-- KEYS[1] outcomes, KEYS[2] outcomes:until, KEYS[3] ended:<state>:<name>, KEYS[4] details:<state>:<name>
-- ARGV[1] how their outcomes begin
-- ARGV[2] how many at the most
-- ARGV[3] bytes of outcomes after which none is looked at
-- RETURNS {how many were removed, how many are left}
-- FIRST WRITE ZREM
local outcomes, expiry, ended, details = unpack(KEYS)
local beginning, most, large = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local refusal = bad('HLEN', outcomes) or bad('ZCARD', expiry) or bad('ZCARD', ended) or bad('HLEN', details)
if refusal then return refusal end

-- ASK HDEL HSET UNLINK
local removed, bytes = 0, 0
for _, id in ipairs(redis.call('ZRANGE', ended, 0, most - 1)) do
  if bytes > large then break end
  local kept = redis.call('HGET', outcomes, id)
  if kept then
    bytes = bytes + #kept
    if kept:sub(1, #beginning) == beginning then
      redis.call('ZREM', expiry, id)
      redis.call('HDEL', outcomes, id)
    end
  end
  forget(ended, details, id)
  removed = removed + 1
end
return { removed, redis.call('ZCARD', ended) }
