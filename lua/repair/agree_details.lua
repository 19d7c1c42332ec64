-- repair/agree_details: makes the list of the jobs of a name that have ended in a state, and what is kept of them,
-- agree.
--
-- KEYS[1] ended:<state>:<name>, KEYS[2] details:<state>:<name>
-- ARGV[1] 1: mend, 0: only look
-- ARGV[2..] ids
-- RETURNS {id, what, ...}. unlisted: details of a job that is not in the list; empty: one in the list without details
-- FIRST WRITE ZREM (of a member that is never there)
local ended, details = unpack(KEYS)
local mend = ARGV[1] == '1'
local refusal = bad('ZCARD', ended) or bad('HLEN', details)
if refusal then return refusal end
if mend then
  -- ASK HDEL HGET HSET UNLINK
  redis.call('ZREM', ended, '')
end

local answer = {}
for i = 2, #ARGV do
  local listed, kept = redis.call('ZSCORE', ended, ARGV[i]), redis.call('HEXISTS', details, ARGV[i]) == 1
  if (listed and not kept) or (kept and not listed) then
    local n = #answer
    answer[n + 1], answer[n + 2] = ARGV[i], listed and 'empty' or 'unlisted'
    if mend then forget(ended, details, ARGV[i]) end
  end
end
return answer
