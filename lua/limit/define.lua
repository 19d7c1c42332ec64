-- limit/define: puts the rules of queues into force, or takes them away, each if what is there is still what the caller
-- has read.
--
-- What a rate has used so far is carried over to the next one, as a number of jobs. A queue that may go on now gets its
-- tokens.
--
-- KEYS[1] limits, KEYS[2] lanes, KEYS[3] turns, KEYS[4] turning, KEYS[5] waking
-- KEYS[6..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each queue
-- ARGV[1] version of the map of the partitions by which its caller goes, 0 where it knows none
-- ARGV[2..] name (empty for the rule of all queues), rule that the caller has read (empty where there was none), new
--   rule (empty takes it away), and 1 if what runs is counted anew (see fill), so that what was counted is forgotten,
--   of each queue
-- RETURNS for each queue 1 if the rule is now the new one, 0 if it is another one than the caller has read, else why it
--   is refused: a key of it has the wrong type. Where only one queue is named that is the error.
--   The error ROUTE with the version of a newer map: the jobs of a name may live elsewhere
-- FIRST WRITE HDEL
local limits = KEYS[1]
local refusal = bad('HLEN', limits) or elsewhere(redis.call('HGET', KEYS[2], ''), ARGV[1])
if refusal then return refusal end

-- pace is how many ns of a rate one job takes, and how many the whole burst.
local function pace(rule)
  local jobs, per, burst = rule:match('^%d %S+ (%d+) (%d+) (%d+)')
  if jobs then return per * 1e6 / jobs, burst * per * 1e6 / jobs end
end

local function change(at, name, before, after, anew)
  local queue, tokens, running, rate = unpack(KEYS, at, at + 3)
  local broken = bad('SCARD', running) or bad('STRLEN', rate)
  if broken then return broken end
  local present = redis.call('HGET', limits, name) or ''
  if present == after then return 1 end
  if present ~= before then return 0 end

  redis.call('HDEL', limits, name)
  if after ~= '' then redis.call('HSET', limits, name, after) end
  if anew == '1' then redis.call('UNLINK', running) end
  local old, whole = pace(before)
  local new, most = pace(after)
  if new ~= old or most ~= whole then
    local debt = old and new and math.min(owed(rate, whole) / old * new, most) or 0
    redis.call('UNLINK', rate)
    if debt > 0 then owe(rate, math.ceil(debt)) end
  end
  local waiting = redis.pcall('LLEN', queue)
  if waiting == 0 then waiting = lined(KEYS[3], KEYS[4], name) end
  if waiting == 0 then waiting = math.min(1, lined(KEYS[5], KEYS[4], name)) end -- keys that wait for their rate
  if type(waiting) == 'number' and waiting > 0 then
    summon(limits, name, tokens, running, rate, math.min(waiting, 2))
  end
  return 1
end

-- ASK GET HMGET HSET LLEN SET TIME UNLINK ZCOUNT
local answers = {}
for i = 2, #ARGV, 4 do
  local answer = change(i + 4, unpack(ARGV, i, i + 3))
  if type(answer) == 'table' then
    if #ARGV == 5 then return answer end
    answer = answer.err
  end
  answers[#answers + 1] = answer
end
return answers
