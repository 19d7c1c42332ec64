-- repair/agree_outcomes: makes the outcomes and the times until which they are kept agree.
--
-- KEYS[1] outcomes, KEYS[2] outcomes:until
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2] ms for which an outcome is kept that has no time
-- ARGV[3..] ids
-- RETURNS {id, what, ...}. undated: an outcome without a time; empty: a time without an outcome
-- FIRST WRITE ZREM (of a member that is never there)
local outcomes, expiry = unpack(KEYS)
local mend = ARGV[1] == '1'
local refusal = bad('HLEN', outcomes) or bad('ZCARD', expiry)
if refusal then return refusal end
if mend then
  -- ASK HEXISTS TIME ZADD ZSCORE
  redis.call('ZREM', expiry, '')
end

local answer = {}
for i = 3, #ARGV do
  local kept, dated = redis.call('HEXISTS', outcomes, ARGV[i]) == 1, redis.call('ZSCORE', expiry, ARGV[i])
  local n = #answer
  if kept and not dated then
    answer[n + 1], answer[n + 2] = ARGV[i], 'undated'
    if mend then redis.call('ZADD', expiry, ms(now() + tonumber(ARGV[2])), ARGV[i]) end
  elseif dated and not kept then
    answer[n + 1], answer[n + 2] = ARGV[i], 'empty'
    if mend then redis.call('ZREM', expiry, ARGV[i]) end
  end
end
return answer
