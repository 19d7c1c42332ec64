-- job/shelve: puts a job that is held on a shelf: retry or scheduled until it is due, morgue, or stalled until somebody
-- resumes it. One that is to be cancelled is left as it is: the caller ends it. With the morgue a job is over as far as
-- others wait for it, so they are told: those who wait for its outcome, and the readers of its completion queue. Its
-- lock is freed then, unless it is kept for jobs in the morgue too. It leaves its place among the jobs of its key,
-- unless those are ordered: the first of two letters is then "h" where a job that is tried again keeps the place, and
-- "b" where it goes to the back; the second "s" where the key stops with one that has died, and "g" where it goes on.
-- That a member is dead counts in its flow.
--
-- One that waits for a message is looked up in its mailbox here, where its claim ends: if the message has come since
-- its handler asked, the job is due at once.
--
-- KEYS[1] claimed, KEYS[2] crashes, KEYS[3] names, KEYS[4] trail, KEYS[5] control,
-- KEYS[6] worker:<id>:inprocess:<name>, KEYS[7] retry, scheduled, morgue or stalled, KEYS[8] cancelled,
-- KEYS[9] running:<name>, KEYS[10] waited, KEYS[11] done, KEYS[12] unique, KEYS[13] turns, KEYS[14] passes,
-- KEYS[15] turning, KEYS[16] keyed, KEYS[17] parked, KEYS[18] holding, KEYS[19] keyrules, KEYS[20] pacing,
-- KEYS[21] waking, KEYS[22] ready
-- KEYS[23..] completion:<name> or mail:<id> or queues of each, at most one: the second of one that waits for a
--   message, the last of one that is to wait in another queue; then, of a member that is over, the keys of its flow, as
--   end.lua has them
-- ARGV[1] element
-- ARGV[2] queue; where it is to wait in another one when it is due behind a NUL that one
-- ARGV[3] ms until it is due; 0 for morgue and stalled; of one that waits the ms when it is due
-- ARGV[4] new trail; empty leaves the one that is there
-- ARGV[5] 1: it was put off without an attempt, so its crashes are not forgotten
-- ARGV[6] 1: it is over
-- ARGV[7] digest of the lock that is to be freed, empty where there is none
-- ARGV[8] 1: it has a key
-- ARGV[9] of one that waits: digest of its record, a blank, and the name of the message, empty where it sleeps; empty
--   for others
-- ARGV[10..] of a member that is over: its name in the flow, and names of queues of which jobs may wait for it
-- RETURNS shelved, roomy: and its queue may have room now, gone: the claim is, or cancelled: it is to be. Where its
--   flow has ended thereby, a line feed and that: see flow_finish
-- FIRST WRITE LREM
local claimed, crashes, names, trail, control, inprocess, shelf, cancelled, running, waited, done, unique =
  unpack(KEYS)
local element, queue, delay, news, keep, over, digest, has_key, waits, member = unpack(ARGV, 1, 10)
local from, other = queue:match('^(%Z*)%z(.*)$')
queue = from or queue
local lines, completion, f, broken = has_key == '1' and lines_at(13), not other and KEYS[23], nil, nil
if member then
  -- PRELUDE flow_of
  -- PRELUDE flow_broken
  -- PRELUDE flow_denied
  -- PRELUDE flow_bad
  local behind = #KEYS - 4 * (#ARGV - 10) -- the last key of the flow
  f = flow_of({ unpack(KEYS, behind - 16, behind) }, behind, { unpack(ARGV, 11) })
  completion, broken = behind > 39 and completion, flow_bad(f)
end

local refusal = bad('HLEN', claimed) or bad('HLEN', crashes) or bad('HLEN', names) or bad('HLEN', trail)
  or bad('LLEN', inprocess) or bad('ZCARD', shelf) or bad('SCARD', cancelled) or bad('SCARD', running)
  or bad('HLEN', waited) or bad('HLEN', unique) or completion and bad('LLEN', completion) -- or a mailbox
  or other and bad('ZCARD', KEYS[23])
  or lines and unsound(lines) or broken
if refusal then return refusal end
local id = element:sub(element:find(':', 1, true) + 1)
if redis.call('SISMEMBER', cancelled, id) == 1 and redis.call('LPOS', inprocess, element, 'RANK', -1) then
  return 'cancelled'
end
local due = now() + tonumber(delay)
if waits ~= '' then
  -- PRELUDE letter_of
  local of, message = waits:match('^(%S+) (.*)$')
  due = completion and letter_of(completion, of, message) and now() or tonumber(delay)
end
local score, owner = turn(shelf, due, id, {}), digest ~= '' and redis.call('HGET', unique, digest) or ''
-- ASK HDEL HSET SREM ZADD
-- ASK over == '1' and completion: LPUSH LTRIM PEXPIRE
-- ASK lines: HGET HMGET SADD ZLEXCOUNT ZMSCORE ZREM ZSCORE
if redis.call('LREM', inprocess, -1, element) == 0 then return 'gone' end

redis.call('HDEL', claimed, id)
if keep ~= '1' then redis.call('HDEL', crashes, id) end
redis.call('ZADD', shelf, score, id)
redis.call('HSET', names, id, other or queue)
if news ~= '' then redis.call('HSET', trail, id, news) end
if other and redis.call('ZADD', KEYS[23], 'NX', ms(now()), other) == 1 and other:find('\31', 1, true) then
  -- PRELUDE tell
  tell(control, 'needs ' .. other)
end
if tonumber(delay) > 0 and redis.call('ZRANGE', shelf, 0, 0)[1] == id then
  -- PRELUDE tell
  tell(control, 'due')
end
if over == '1' and redis.call('HDEL', waited, id) == 1 then
  -- PRELUDE tell
  tell(done, id)
end
if owner:match('^(.*) %d+ %a$') == id then
  redis.call('HDEL', unique, digest)
end
if over == '1' and completion then
  redis.call('LPUSH', completion, 'dead ' .. id)
  redis.call('LTRIM', completion, 0, 999999) -- nobody may read it
  redis.call('PEXPIRE', completion, 7 * 24 * 3600 * 1000)
end
local roomy = redis.call('SREM', running, id) == 1
if lines then
  -- PRELUDE line
  -- PRELUDE micros
  -- PRELUDE spot
  -- PRELUDE within
  -- PRELUDE key_rules
  -- PRELUDE pace
  -- PRELUDE rear
  -- PRELUDE grant
  -- PRELUDE vacate
  local _, order = key_rules(lines, queue, {})
  local stays = order and (over == '1' and order:sub(2) == 's' or over ~= '1' and order:sub(1, 1) == 'h')
  if not stays then
    roomy = vacate(lines, queue, { id }, { redis.call('HGET', lines.keyed, id) }) or roomy
  end
end
if f then
  -- PRELUDE tell
  -- PRELUDE wake
  -- PRELUDE owed
  -- PRELUDE room
  -- PRELUDE summon
  -- PRELUDE flow_read
  -- PRELUDE flow_place
  -- PRELUDE flow_put
  -- PRELUDE flow_unlock
  -- PRELUDE flow_free
  -- PRELUDE flow_call
  -- PRELUDE flow_release
  -- PRELUDE flow_unpack
  -- PRELUDE flow_push
  -- PRELUDE flow_drop
  -- PRELUDE flow_visit
  -- PRELUDE flow_meet
  -- PRELUDE flow_finish
  -- PRELUDE flow_work
  -- PRELUDE flow_advance
  -- PRELUDE flow_step
  -- PRELUDE flow_end
  local fresh = flow_end(f, { member }, { [member] = 'dead' }, {}, {})
  if f.state then flow_step(f, fresh) end
end
return (roomy and 'roomy' or 'shelved') .. (f and f.told and '\n' .. f.told or '')
