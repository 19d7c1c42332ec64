-- result/collect: takes the oldest entry out of a completion queue.
--
-- A reader is a lane, as an enqueuer's: a call that is sent twice answers what it answered the first time and takes
-- nothing more, and a call older than the last one that took something is refused. So no entry is lost with a reply.
--
-- KEYS[1] lanes, KEYS[2] completion:<name>
-- ARGV[1] lane
-- ARGV[2] number of the call: another one once the last one was answered with an entry
-- RETURNS "<state> <id>", or false where there is none
-- FIRST WRITE RPOP
local lanes, completion = unpack(KEYS)
local lane, number = unpack(ARGV)

local refusal, length = bad('LLEN', completion)
refusal = refusal or bad('HLEN', lanes)
if refusal then return refusal end
local n, entry = (redis.call('HGET', lanes, lane) or ''):match('^(%d+) %d+ (.*)$')
if n and tonumber(n) == tonumber(number) then return entry end
if n and tonumber(n) > tonumber(number) then
  return redis.error_reply('STALE reader ' .. lane .. ' is at call ' .. n)
end

if length == 0 then return false end
local time = ms(now())
-- ASK HSET
entry = redis.call('RPOP', completion)
redis.call('HSET', lanes, lane, number .. ' ' .. time .. ' ' .. entry)
return entry
