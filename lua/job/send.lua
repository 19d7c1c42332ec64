-- job/send: puts a message into the mailbox of a job that lives, wherever that stands, also before it asks for one. If
-- the job is off to wait for a message of that name, it is due now.
--
-- Workers are not asked: one that holds the job looks into the mailbox when its handler asks, and the script that puts
-- the job off looks once more, so no message comes between the two. A mailbox of another record is that of an earlier
-- job of the same id, and is emptied. It is a call of a lane: sent twice it answers the same and stores nothing more.
--
-- KEYS[1] lanes, KEYS[2] jobs, KEYS[3] mail:<id>, KEYS[4] mailed, KEYS[5] steps:<id>, KEYS[6] scheduled,
-- KEYS[7] claimed, KEYS[8] control
-- ARGV[1] lane
-- ARGV[2] number of the call: another one once the last one was answered with "sent"
-- ARGV[3] id
-- ARGV[4] name
-- ARGV[5] message, JSON
-- ARGV[6] how many messages a mailbox holds
-- ARGV[7] how many bytes
-- ARGV[8] ms to live
-- RETURNS "<ms> sent"; or gone: there is no such job here; full: the mailbox is, and nothing was done
-- FIRST WRITE UNLINK, or RPUSH, refused at full memory
local lanes, jobs, mail, mailed, steps, scheduled, claimed, control = unpack(KEYS)
local lane, number, id, name, message, most, room, life = unpack(ARGV)

local nomail, there = bad('LLEN', mail)
local refusal = bad('HLEN', lanes) or bad('HLEN', jobs) or nomail or bad('HLEN', mailed) or bad('HLEN', steps)
  or bad('ZCARD', scheduled) or bad('HLEN', claimed)
if refusal then return refusal end
local answer = answered(lanes, lane, number)
if answer then return answer end
local record = redis.call('HGET', jobs, id)
if not record then return 'gone' end

local digest, time = redis.sha1hex(record), now()
local of, bytes = (redis.call('LINDEX', mail, 0) or ''):match('^(%S+) (%d+)$')
local void, count = of ~= digest, there
if void then count, bytes = 1, 0 end
local letter = ms(time) .. ' ' .. name .. '\0' .. message
bytes = bytes + #letter
if count > tonumber(most) or bytes > tonumber(room) then return 'full' end

local head, wait = unpack(redis.call('HMGET', steps, '', name))
local due = wait and wait:find('^wait ') and (head or ''):match('^%S+') == digest
  and redis.call('HEXISTS', claimed, id) == 0 and redis.call('ZSCORE', scheduled, id)
local score = due and tonumber(due) > time and turn(scheduled, time, id, {})
-- ASK HSET LSET PEXPIRE ZADD
if void and there > 0 then redis.call('UNLINK', mail) end
redis.call('RPUSH', mail, unpack(void and { digest .. ' ' .. ms(bytes), letter } or { letter }))
if not void then redis.call('LSET', mail, 0, digest .. ' ' .. ms(bytes)) end
redis.call('PEXPIRE', mail, life)
redis.call('HSET', mailed, id, ms(time))
redis.call('HSET', lanes, lane, number .. ' ' .. ms(time) .. ' sent')
if score then
  redis.call('ZADD', scheduled, score, id)
  -- PRELUDE tell
  tell(control, 'due')
end
return ms(time) .. ' sent'
