-- worker/command: tells a worker what is wanted of it. It learns of it by its next heartbeat, and by a hint that makes
-- that one come at once.
--
-- A worker that is to go quiet does not go on again, and one that is to stop does neither. One that is to stop at once
-- is to stop as well: that is all that an older program knows.
--
-- The tokens of questions that it has not answered stand beside that. A token that is there is not added again, and one
-- that is not is not taken out: each may be sent twice. A worker that has a hundred gets no more.
--
-- KEYS[1] workers, KEYS[2] worker:<id>:info, KEYS[3] control
-- ARGV[1] worker
-- ARGV[2] pause, resume, quiet, stop, now, which is a stop at once, ask, answered, or ping: its next heartbeat removes
--   that field
-- ARGV[3] with ask and answered, the token of a question; else empty
-- RETURNS 1; 0 if it is not registered; -1 if it has too many questions
-- FIRST WRITE HDEL
local workers, info, control = unpack(KEYS)
local worker, command, token = unpack(ARGV)
local refusal = bad('SCARD', workers) or bad('HLEN', info)
if refusal then return refusal end
if redis.call('SISMEMBER', workers, worker) == 0 then return 0 end

-- ASK HSET
local rank = { resume = 0, pause = 1, quiet = 2, stop = 3, now = 4 }
local before = rank[redis.call('HGET', info, 'wanted') or 'resume'] or 0
if token ~= '' then
  local asked, count = redis.call('HGET', info, 'asked') or '', 0
  local others = {}
  for one in asked:gmatch('%S+') do
    if one ~= token then others[#others + 1] = one end
    count = count + 1
  end
  if command == 'ask' and #others == count then
    if count >= 100 then return -1 end
    others[count + 1] = token
  elseif command == 'ask' then
    others = { asked }
  end
  redis.call('HDEL', info, 'asked')
  if #others > 0 then redis.call('HSET', info, 'asked', table.concat(others, ' ')) end
  if command == 'answered' then return 1 end
elseif command == 'ping' then
  redis.call('HDEL', info, 'ping')
  redis.call('HSET', info, 'ping', '1')
elseif before < 2 or rank[command] > before then
  redis.call('HDEL', info, 'wanted')
  if command == 'now' then
    redis.call('HSET', info, 'wanted', 'stop', 'now', '1')
  elseif command ~= 'resume' then
    redis.call('HSET', info, 'wanted', command)
  end
end
-- PRELUDE tell
tell(control, 'worker ' .. worker)
return 1
