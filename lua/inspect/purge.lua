-- inspect/purge: removes jobs that have nothing beside record, trail and crashes from the front part of a queue.
--
-- The part is read again and written anew without them, since to take ids out one by one costs a walk for each that has
-- left meanwhile. One that somebody waits for stays: the caller ends it by end, with an outcome. So does one that is to
-- be cancelled, which ends so and is not purged. One that a worker holds only leaves the queue, as it would by a fetch.
-- Without ids it only puts away what an empty queue has left.
--
-- KEYS[1] queue:<name>, KEYS[2] ready, KEYS[3] wake:<name>, KEYS[4] jobs, KEYS[5] trail, KEYS[6] crashes,
-- KEYS[7] cancelled, KEYS[8] claimed, KEYS[9] waited, KEYS[10] turns, KEYS[11] passes, KEYS[12] turning,
-- KEYS[13] keyed, KEYS[14] parked, KEYS[15] holding, KEYS[16] keyrules, KEYS[17] pacing, KEYS[18] waking,
-- KEYS[19] ready
-- ARGV[1] name
-- ARGV[2] how many ids the part has; 0: they wait by turns instead
-- ARGV[3..] ids to be removed, at most 500
-- RETURNS {how many jobs were removed, the ids of those that somebody waits for, the ids of those that are to be
--   cancelled}
-- FIRST WRITE LTRIM, ZREM or SREM
local queue, ready, tokens, jobs, trail, crashes, cancelled, claimed, waited = unpack(KEYS)
local lines = lines_at(10)
local name, size = ARGV[1], tonumber(ARGV[2])

local noflags, flagged = bad('SCARD', cancelled)
local refusal = bad('LLEN', queue) or bad('SCARD', ready) or bad('HLEN', jobs) or bad('HLEN', trail)
  or bad('HLEN', crashes) or noflags or bad('HLEN', claimed) or bad('HLEN', waited)
  or bad('ZCARD', lines.turns) or size == 0 and bad('ZCARD', lines.passes) or unsound(lines)
if refusal then return refusal end

local named, scores, part = {}, {}, size > 0 and redis.call('LRANGE', queue, -size, -1) or {}
for i = 3, #ARGV do
  named[ARGV[i]] = true
  scores[ARGV[i]] = size == 0 and redis.call('ZSCORE', lines.turns, ARGV[i])
  if scores[ARGV[i]] then part[#part + 1] = ARGV[i] end
end
local waiters, holders, flags = {}, {}, {}
if #part > 0 then
  waiters, holders = redis.call('HMGET', waited, unpack(part)), redis.call('HMGET', claimed, unpack(part))
  if flagged > 0 then flags = redis.call('SMISMEMBER', cancelled, unpack(part)) end
end
local rest, ended, asked, doomed = {}, {}, {}, {}
for i, id in ipairs(part) do
  local stays = not named[id] and rest or not holders[i] and (flags[i] == 1 and doomed or waiters[i] and asked)
  if stays then
    rest[#rest + 1] = id
    if stays ~= rest then stays[#stays + 1] = id end
  elseif not holders[i] then
    ended[#ended + 1] = id
  end
end

-- ASK HDEL HGET RPUSH SADD SREM TIME UNLINK ZADD ZCOUNT ZLEXCOUNT ZMSCORE ZRANGE ZREM ZSCORE
local known = #ended > 0 and redis.call('HMGET', lines.keyed, unpack(ended)) or {}
if size == 0 and #ended > 0 then
  for i, id in ipairs(ended) do unpark(lines, id, scores[id], known[i]) end
  redis.call('ZREM', lines.turns, unpack(ended))
elseif #rest < #part then
  redis.call('LTRIM', queue, 0, -size - 1)
  if #rest > 0 then redis.call('RPUSH', queue, unpack(rest)) end
end
local removed = 0
if #ended > 0 then
  removed = redis.call('HDEL', jobs, unpack(ended))
  redis.call('HDEL', trail, unpack(ended))
  redis.call('HDEL', crashes, unpack(ended))
  redis.call('HDEL', lines.keyed, unpack(ended))
  if size == 0 then close_up(lines, line(lines.turning, name), name) end
  if vacate(lines, name, ended, known) then wake(tokens, 1) end
end
if rests(queue, lines, name) then
  redis.call('SREM', ready, name)
  redis.call('UNLINK', tokens)
end
return { removed, asked, doomed }
