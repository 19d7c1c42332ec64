-- complete: ends jobs that are done or discarded, each only if the very claim that is named still stands.
--
-- KEYS[1] claimed, KEYS[2] jobs, KEYS[3] trail, KEYS[4] crashes, KEYS[5] outcomes, KEYS[6] outcomes:until
-- KEYS[7..] worker:<id>:inprocess:<name> of each queue
-- ARGV[1] how many claims follow
-- ARGV[2..] queue (1 is the first) and element of each; then, of each whose outcome is kept, which claim it is (1 is the
--   first), ms to keep it and outcome. Not its id: the same job may be named by a claim that is gone and one that stands
-- RETURNS the elements whose claim is gone
-- FIRST WRITE LREM
local claimed, jobs, trail, crashes, outcomes, expiry = unpack(KEYS, 1, 6)
local count = tonumber(ARGV[1])

local from = 2 * count + 2
local refusal = bad('HLEN', claimed) or bad('HLEN', jobs)
local notrail, tried = bad('HLEN', trail)
local nocrashes, crashed = bad('HLEN', crashes)
refusal = refusal or notrail or nocrashes or ARGV[from] and (bad('HLEN', outcomes) or bad('ZCARD', expiry)) or nil
local lists = {}
for i = 7, #KEYS do
  refusal = refusal or bad('LLEN', KEYS[i])
  lists[tostring(i - 6)] = KEYS[i]
end
if refusal then return refusal end

local ids, ended, gone = {}, {}, {}
for i = 2, 2 * count, 2 do
  local element = ARGV[i + 1]
  if redis.call('LREM', lists[ARGV[i]], -1, element) == 1 then
    local id = element:sub(element:find(':', 1, true) + 1)
    ids[#ids + 1], ended[i / 2] = id, id
  else
    gone[#gone + 1] = element
  end
end
if #ids == 0 then return gone end

local time = ARGV[from] and now()
for i = from, #ARGV, 3 do
  local id = ended[tonumber(ARGV[i])]
  if id then
    redis.call('HSET', outcomes, id, ARGV[i + 2])
    redis.call('ZADD', expiry, ms(time + tonumber(ARGV[i + 1])), id)
  end
end
redis.call('HDEL', claimed, unpack(ids))
redis.call('HDEL', jobs, unpack(ids))
if tried > 0 then redis.call('HDEL', trail, unpack(ids)) end
if crashed > 0 then redis.call('HDEL', crashes, unpack(ids)) end
return gone
