-- repair/remove_expired: removes outcomes whose retention has passed, at most 500 at a time, and with them the details
-- of their jobs.
--
-- Where those are an outcome says, at its beginning. The caller cannot know beforehand: those whose KEYS it has not
-- given stay, and are named, and it comes again. One of those keys that has another type is left to the doctor: it
-- keeps no outcome from going.
--
-- KEYS[1] outcomes, KEYS[2] outcomes:until
-- KEYS[3..] ended:<state>:<name>, details:<state>:<name> of each beginning
-- ARGV[1] how many at the most
-- ARGV[2] about how many bytes of outcomes are looked at
-- ARGV[3..] how outcomes begin, up to the name
-- RETURNS {how many were removed, 1 if there may be more, the beginnings of those that stay}
-- FIRST WRITE ZREM
local outcomes, expiry = unpack(KEYS, 1, 2)
local refusal = bad('HLEN', outcomes) or bad('ZCARD', expiry)
local places = {}
for i = 3, #ARGV do
  local broken = bad('ZCARD', KEYS[2 * i - 3]) or bad('HLEN', KEYS[2 * i - 2])
  places[ARGV[i]] = broken and 0 or 2 * i - 3
end
if refusal then return refusal end

local due = redis.call('ZRANGEBYSCORE', expiry, '-inf', ms(now()), 'LIMIT', 0, ARGV[1])
local gone, place, named, unknown, bytes, looked = {}, {}, {}, {}, 0, 0
for _, id in ipairs(due) do
  local outcome = redis.call('HGET', outcomes, id) or ''
  bytes = bytes + #outcome
  if bytes > tonumber(ARGV[2]) and looked > 0 then break end
  looked = looked + 1
  local beginning = outcome:match('^({"state":"%a+","name":.-),"ended":')
  if not beginning or places[beginning] then
    gone[#gone + 1], place[#gone + 1] = id, places[beginning]
  elseif not named[beginning] then
    named[beginning], unknown[#unknown + 1] = true, beginning
  end
end
-- ASK HDEL HSET UNLINK
if #gone > 0 then
  redis.call('ZREM', expiry, unpack(gone))
  redis.call('HDEL', outcomes, unpack(gone))
end
for i, id in ipairs(gone) do
  if (place[i] or 0) > 0 then forget(KEYS[place[i]], KEYS[place[i] + 1], id) end
end
return { #gone, (#due == tonumber(ARGV[1]) or looked < #due) and 1 or 0, unknown }
