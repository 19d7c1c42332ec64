-- inspect/page: reads a part of a shelf behind a cursor, in the order of scores and of ids with the same score.
--
-- The cursor is the last job that was read, which may have left by now: what counts is where it would stand. That is
-- found by halves, so that a million jobs that are due at the same moment are no dearer than one.
--
-- KEYS[1] scheduled, retry, morgue, stalled, turns, passes, ended:<state>:<name>, flows, flows:filling, flows:busy or
--   flow.ends:<id>
-- ARGV[1] how many at the most
-- ARGV[2] 1 to begin with the highest score, else 0
-- ARGV[3] score of the cursor, empty to begin at the beginning
-- ARGV[4] id of the cursor
-- RETURNS {id, score, id, score, ...}
-- FIRST WRITE none
local shelf, many, newest, score, id = KEYS[1], tonumber(ARGV[1]), ARGV[2] == '1', ARGV[3], ARGV[4]

local refusal, size = bad('ZCARD', shelf)
if refusal then return refusal end

local from = 0 -- how many are not behind the cursor
if score ~= '' then
  local low, high = redis.call('ZCOUNT', shelf, '-inf', '(' .. score), redis.call('ZCOUNT', shelf, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local there = redis.call('ZRANGE', shelf, middle, middle)[1]
    if before(there, id) or not newest and there == id then low = middle + 1 else high = middle end
  end
  from = newest and size - low or low
end
return redis.call(newest and 'ZREVRANGE' or 'ZRANGE', shelf, from, from + many - 1, 'WITHSCORES')
