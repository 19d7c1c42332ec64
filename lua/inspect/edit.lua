-- inspect/edit: changes a job that nobody holds: its record, and until when it is put off.
--
-- The caller read the record, and says which one it was: a job that has ended since, or is another one of the same id,
-- is left alone. A job that is due already is not put off, and one that is due later than asked stays so: whatever is
-- changed here is seen by the attempt that comes. One that has done steps with what it is to lose is left alone too.
-- Its mailbox goes by the record, so it is told of the new one.
--
-- KEYS[1] jobs, KEYS[2] claimed, KEYS[3] scheduled, KEYS[4] steps:<id>, KEYS[5] mail:<id>
-- ARGV[1] id
-- ARGV[2] SHA-1 of the record as it was read
-- ARGV[3] new record
-- ARGV[4] stay: it is due when it was; in, at: it is put off
-- ARGV[5] delay or time in ms
-- RETURNS amended; gone: there is no such job; held: a worker has it; other: its record is another one; due: it is to
--   be put off and is not in scheduled, so nothing was done; steps: it has some, so nothing was done
-- FIRST WRITE HDEL (of a field that is never there)
local jobs, claimed, scheduled, steps, mail = unpack(KEYS)
local id, digest, record, place, time = unpack(ARGV)

local refusal = bad('HLEN', jobs) or bad('HLEN', claimed) or bad('ZCARD', scheduled) or bad('HLEN', steps)
  or bad('LLEN', mail)
if refusal then return refusal end
local stored = redis.call('HGET', jobs, id)
if not stored then return 'gone' end
if stored == record then return 'amended' end
if redis.call('HEXISTS', claimed, id) == 1 then return 'held' end
if redis.sha1hex(stored) ~= digest then return 'other' end
if (redis.call('HGET', steps, '') or ''):match('^%S+') == digest then return 'steps' end
local due = redis.call('ZSCORE', scheduled, id)
if place ~= 'stay' and not due then return 'due' end

-- ASK HSET LINDEX LSET TIME ZADD ZRANGE
redis.call('HDEL', jobs, '')
redis.call('HSET', jobs, id, record)
local of, bytes = (redis.call('LINDEX', mail, 0) or ''):match('^(%S+) (%d+)$')
if of == digest then redis.call('LSET', mail, 0, redis.sha1hex(record) .. ' ' .. bytes) end
local later = tonumber(time) + (place == 'in' and now() or 0)
if place ~= 'stay' and later > tonumber(due) then redis.call('ZADD', scheduled, turn(scheduled, later, id, {}), id) end
return 'amended'
