-- result/await: says what has become of jobs that somebody waits for, and notes of those that have not ended that
-- somebody does.
--
-- The note makes whatever ends the job keep its outcome for a while and publish its id on done. Both are one step, so
-- no end falls in between: a job has ended, and the answer says how, or its end will find the note. A job that lives is
-- one that has not ended, even where the outcome of a former one of its id is kept; but one that is to be cancelled and
-- has an outcome is over. Outcomes may be large: what is beyond the bytes that are wanted is asked for again.
--
-- KEYS[1] waited, KEYS[2] jobs, KEYS[3] outcomes, KEYS[4] morgue, KEYS[5] trail, KEYS[6] cancelled
-- ARGV[1] ms for which the note stands
-- ARGV[2] about how many bytes of outcomes and trails at the most
-- ARGV[3..] ids, at most 500
-- RETURNS of each id what it is (waiting, ended, dead, gone, or later: ask again) and its outcome or trail; false where
--   there is none
-- FIRST WRITE HDEL
local waited, jobs, outcomes, morgue, trail, cancelled = unpack(KEYS)
local life, most = tonumber(ARGV[1]), tonumber(ARGV[2])

local noflags, flagged = bad('SCARD', cancelled)
local refusal = bad('HLEN', waited) or bad('HLEN', jobs) or bad('HLEN', outcomes) or bad('ZCARD', morgue)
  or bad('HLEN', trail) or noflags
if refusal then return refusal end

local ids = { unpack(ARGV, 3) }
local stands, bytes = ms(now() + life), 0

-- outcome says what a job is, and what is kept of it.
local function outcome(id)
  local lives = redis.call('HEXISTS', jobs, id) == 1
  local over = not lives or flagged > 0 and redis.call('SISMEMBER', cancelled, id) == 1
  if over and redis.call('HEXISTS', outcomes, id) == 1 then return 'ended', outcomes end
  if not lives then return 'gone' end
  if redis.call('ZSCORE', morgue, id) then return 'dead', trail end
  return 'waiting'
end

local answer, notes = {}, {}
for _, id in ipairs(ids) do
  local what, from = outcome(id)
  if what == 'waiting' then
    notes[#notes + 1], notes[#notes + 2] = id, stands
  elseif from and bytes >= most then
    what, from = 'later', nil
  end
  local kept = from and redis.call('HGET', from, id) or false
  bytes = bytes + (kept and #kept or 0)
  answer[#answer + 1], answer[#answer + 2] = what, kept
end
if #notes > 0 then
  -- ASK HSET
end
redis.call('HDEL', waited, unpack(ids))
if #notes > 0 then redis.call('HSET', waited, unpack(notes)) end
return answer
