-- job/mark_suspect: notes that a job is about to begin with which workers have died. If this worker dies now, it was
-- running.
--
-- KEYS[1] crashes, KEYS[2] worker:<id>:inprocess:<name>
-- ARGV[1] worker
-- ARGV[2] element
-- RETURNS 1, or 0 if the claim is gone
-- FIRST WRITE HDEL (of a field that is never there)
local crashes, inprocess = KEYS[1], KEYS[2]
local refusal = bad('HLEN', crashes) or bad('LLEN', inprocess)
if refusal then return refusal end
if not redis.call('LPOS', inprocess, ARGV[2]) then return 0 end

local number, id = ARGV[2]:match('^(%d+):(.*)$')
local words = id and redis.call('HGET', crashes, id)
if not words then return 1 end -- nobody has died with it after all
redis.call('HDEL', crashes, '')
redis.call('HSET', crashes, id, words:gsub(' %+%S+$', '') .. ' +' .. ARGV[1] .. ':' .. number .. ':' .. ms(now()))
return 1
