-- release: gives claims of one queue back to the front of it, in their old order, oldest at the very front.
--
-- KEYS[1] claimed, KEYS[2] crashes, KEYS[3] ready, KEYS[4] worker:<id>:inprocess:<name>, KEYS[5] queue:<name>,
-- KEYS[6] wake:<name>, KEYS[7] worker:<id>:info, KEYS[8] running:<name>
-- ARGV[1] queue
-- ARGV[2] worker that died with them, which is noted in crashes; empty where none died. From the third crash on it is
--   noted only for the suspect that the worker had named before it began it, since the others died with that one
-- ARGV[3] 1: their attempts ended in good order, so earlier crashes are forgotten
-- ARGV[4..] elements, oldest first
-- RETURNS the elements whose claim is gone
-- FIRST WRITE LREM
local claimed, crashes, ready, inprocess, queue, tokens, info, running = unpack(KEYS)
local name, died, ended = ARGV[1], ARGV[2], ARGV[3] == '1'

local refusal = bad('HLEN', claimed) or bad('HLEN', crashes) or bad('SCARD', ready)
  or bad('LLEN', inprocess) or bad('LLEN', queue) or bad('SCARD', running)
if refusal then return refusal end

local suspect = died ~= '' and redis.call('HGET', info, 'suspect')
local ids, gone, accused = {}, {}, nil
for i = 4, #ARGV do
  if redis.call('LREM', inprocess, -1, ARGV[i]) == 1 then
    local colon = ARGV[i]:find(':', 1, true)
    if colon then ids[#ids + 1] = ARGV[i]:sub(colon + 1) end -- one without is no claim of ours, and is gone now
    if ARGV[i] == suspect then accused = ids[#ids] end
  else
    gone[#gone + 1] = ARGV[i]
  end
end
if #ids == 0 then return gone end

redis.call('HDEL', claimed, unpack(ids))
redis.call('SREM', running, unpack(ids))
for i = #ids, 1, -1 do
  redis.call('RPUSH', queue, ids[i])
  if died ~= '' then
    local before = redis.call('HGET', crashes, ids[i])
    local _, times = (before or ''):gsub('%S+', '')
    if times < 2 or ids[i] == accused then
      redis.call('HSET', crashes, ids[i], before and before .. ' ' .. died or died)
    end
  end
end
if ended then redis.call('HDEL', crashes, unpack(ids)) end
redis.call('SADD', ready, name)
wake(tokens, 1)
return gone
