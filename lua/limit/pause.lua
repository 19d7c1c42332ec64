-- limit/pause: pauses queues or lets them go on, each unless something newer was said of it here.
--
-- In a namespace with partitions each such control has a version, the later the higher. That of the last one is kept,
-- also when the queue goes on: a partition that was away is told later, when something newer may have been said. Of two
-- controls of one version the one that lets a queue go on counts, so that all partitions end up with the same.
--
-- KEYS[1] limits, KEYS[2] lanes, KEYS[3] pauses, KEYS[4] turns, KEYS[5] turning, KEYS[6] waking
-- KEYS[7..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each queue
-- ARGV[1] version of the map of the partitions by which its caller goes, 0 where it knows none
-- ARGV[2..] name (empty for all queues), version of the control (0 where there is one partition: it is not kept), and 1
--   if the queue is paused, 0 if it goes on, of each queue
-- RETURNS for each queue 1 if it is now as wanted, 0 if something newer was said of it, else why it is refused: its
--   rule cannot be read, which is the error RULE, or a key of it has the wrong type. Where only one queue is named that
--   is the error. The error ROUTE with the version of a newer map: there may be more partitions
-- FIRST WRITE HDEL
local limits, pauses = KEYS[1], KEYS[3]
local refusal = bad('HLEN', limits) or bad('HLEN', pauses) or elsewhere(redis.call('HGET', KEYS[2], ''), ARGV[1])
if refusal then return refusal end
local none = '0 - - - - code - - -'

local function change(at, name, version, paused)
  local queue, tokens, running, rate = unpack(KEYS, at, at + 3)
  local broken = bad('SCARD', running) or bad('STRLEN', rate)
  if broken then return broken end
  local before = redis.call('HGET', limits, name) or none
  local rest = before:match('^[01]( %S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+)$')
  if not rest then return redis.error_reply('RULE the rule of the queue cannot be read') end
  local after, known = paused .. rest, tonumber(redis.call('HGET', pauses, name) or '0') or 0
  if known > tonumber(version) then return 0 end
  if known > 0 and known == tonumber(version) and (before == after or paused == '1') then
    return before == after and 1 or 0
  end

  redis.call('HDEL', limits, name)
  if after ~= none then redis.call('HSET', limits, name, after) end
  if version ~= '0' then redis.call('HSET', pauses, name, version) end
  local waiting = redis.pcall('LLEN', queue)
  if waiting == 0 then waiting = lined(KEYS[4], KEYS[5], name) end
  if waiting == 0 then waiting = math.min(1, lined(KEYS[6], KEYS[5], name)) end -- keys that wait for their rate
  if paused == '0' and type(waiting) == 'number' and waiting > 0 then
    summon(limits, name, tokens, running, rate, math.min(waiting, 2))
  end
  return 1
end

-- ASK GET HMGET HSET LLEN TIME ZCOUNT
local answers = {}
for i = 2, #ARGV, 3 do
  local answer = change(4 * (i + 1) / 3 + 3, unpack(ARGV, i, i + 2))
  if type(answer) == 'table' then
    if #ARGV == 4 then return answer end
    answer = answer.err
  end
  answers[#answers + 1] = answer
end
return answers
