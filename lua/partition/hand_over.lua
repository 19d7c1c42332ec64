-- partition/hand_over: forgets what another partition has received, with all that belongs to it.
--
-- A job that was cancelled since it was frozen stays, and is named: the mover cancels it where it is now, and says so
-- with its next call. What was taken home by the target, or has ended, is a straggler no more.
--
-- KEYS[1] mover, KEYS[2] frozen, KEYS[3] stragglers, KEYS[4] foreign, KEYS[5] unique, KEYS[6] jobs, KEYS[7] done
-- KEYS[8..] log:<id> or state:<id> or steps:<id> or mail:<id> or object:<sha>:jobs or running:<name> or holding of each
--   belonging
-- ARGV[1] token of the mover
-- ARGV[2] for how many ms it leads from now on
-- ARGV[3] number of the batch
-- ARGV[4] how many were received
-- ARGV[5..] of each of these: what (job; cancelled: a job that was cancelled there too; gone; freed: a straggler whose
--   lock is free; home; lock; schedule), id (of a lock its digest), digest of its lock; then of each key from the 8th:
--   own (it is removed), object or running, or seat and its member of holding, and which of those it belongs to (1 is
--   the first)
-- RETURNS {state (ok; led: by another mover), ids of those that were cancelled since}
-- FIRST WRITE PEXPIRE
local mover, frozen, stragglers, foreign, unique, jobs, done = unpack(KEYS, 1, 7)
local token, life, number, count = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

local refusal = bad('STRLEN', mover) or bad('HLEN', frozen) or bad('HLEN', stragglers) or bad('HLEN', foreign)
  or bad('HLEN', unique) or bad('HLEN', jobs)
for i = 8, #KEYS do
  local what = ARGV[5 + 3 * count + 2 * (i - 8)]
  if what ~= 'own' then refusal = refusal or bad(what:find('^seat') and 'ZCARD' or 'SCARD', KEYS[i]) end
end
if refusal then return refusal end
if redis.call('GET', mover) ~= token then return { 'led' } end
-- ASK HDEL HEXISTS HGET HSET SREM UNLINK ZREM
redis.call('PEXPIRE', mover, life)

local answer, left = { 'ok' }, {}
local thawed = (redis.call('HGET', frozen, '') or ''):match('^%d+ %S+ %d %d')
for n = 1, count do
  local what, id, digest = unpack(ARGV, 2 + 3 * n, 4 + 3 * n)
  if what == 'job' or what == 'cancelled' then
    local text = redis.call('HGET', frozen, id)
    local of, flagged = (text or ''):match('^%d+ (%d+) (%d)')
    if of == number and flagged == '1' and what == 'job' then
      answer[#answer + 1] = id
    elseif of == number then
      redis.call('HDEL', frozen, id)
      if not thawed then redis.call('HDEL', stragglers, id) end
      left[n] = redis.call('HEXISTS', jobs, id) == 0 -- it may be back already
      -- PRELUDE tell
      tell(done, id) -- who waits for it looks, and finds where it is
    end
  elseif what == 'gone' then
    redis.call('HDEL', stragglers, id)
    free(unique, id, digest)
  elseif what == 'freed' then
    local known = redis.call('HGET', stragglers, id)
    if known then redis.call('HSET', stragglers, id, (known:gsub('^([^%z]*%z)[^%z]*', '%1'))) end
  elseif what == 'home' then
    redis.call('HDEL', stragglers, id)
    redis.call('HDEL', foreign, id)
    free(unique, id, digest)
    left[n] = true
  elseif what == 'lock' then
    local owner = (redis.call('HGET', unique, id) or ''):match('^(.*) %d+ %a$')
    if owner and not alive(jobs, foreign, owner) then redis.call('HDEL', unique, id) end
  else
    redis.call('HDEL', frozen, 'schedule\0' .. id)
  end
end
for i = 8, #KEYS do
  local at = 5 + 3 * count + 2 * (i - 8)
  local what, of = ARGV[at], tonumber(ARGV[at + 1])
  if left[of] and what == 'own' then
    redis.call('UNLINK', KEYS[i])
  elseif left[of] and what:find('^seat') then
    redis.call('ZREM', KEYS[i], what:sub(6))
  elseif left[of] then
    redis.call('SREM', KEYS[i], ARGV[3 + 3 * of])
  end
end
return answer
