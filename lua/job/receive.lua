-- job/receive: asks whether a held job has come to the end of a wait: its time has passed, or its message is in the
-- mailbox. A message that is taken is a step from then on, in this very script: a worker that dies now has not lost it,
-- and one that was fenced takes nothing. Of a wait that has no end yet it is noted until when it lasts, the first time
-- that it is asked for.
--
-- In steps:<id> (see job/step) a wait is "sleep <until ms>", "wait <until ms, 0 for no end>"; and when it is over
-- "slept <until ms> <ms>", "late <until ms> <ms>", or "message <ms when it was sent> <ms when it was taken>", a line's
-- end, and the message. A mailbox is a list: "<digest of the record> <bytes>", and of each message
-- "<ms> <name> NUL <JSON>", oldest first.
--
-- KEYS[1] steps:<id>, KEYS[2] mail:<id>, KEYS[3] trail, KEYS[4] worker:<id>:inprocess:<name>
-- ARGV[1] element
-- ARGV[2] digest of the record
-- ARGV[3] trail that notes the steps; empty where they are noted
-- ARGV[4] trail that notes a log as well: where that one stands, it stays
-- ARGV[5] ms to live
-- ARGV[6] how many steps a job may have
-- ARGV[7] how many bytes, names and texts
-- ARGV[8] how many are there as far as the caller knows
-- ARGV[9] name
-- ARGV[10] sleep, or message
-- ARGV[11] ms that the wait lasts, from the first time on; empty for no end
-- RETURNS the text of the wait as it is now; or gone, full, lost: see job/step
-- FIRST WRITE HDEL (of a field that is never there), UNLINK
local steps, mail, trail, inprocess = unpack(KEYS)
local element, digest, note, fuller, life, most, room, known, name, kind, lasts = unpack(ARGV)

local nosteps, count = bad('HLEN', steps)
local refusal = nosteps or bad('LLEN', mail) or bad('HLEN', trail) or bad('LLEN', inprocess)
if refusal then return refusal end
if not redis.call('LPOS', inprocess, element, 'RANK', -1) then return 'gone' end
local head, text = unpack(redis.call('HMGET', steps, '', name))
local of, bytes = (head or ''):match('^(%S+) (%d+)$')
local void, time = of ~= digest, now()
if void then count, bytes, text = 0, 0, false else count, bytes = count - 1, tonumber(bytes) end
if count < tonumber(known) then return 'lost' end
if text and not text:find('^sleep ') and not text:find('^wait ') then return text end

local untold = lasts == '' and '0' or ms(time + tonumber(lasts))
local ends = text and text:match('^%a+ (%d+)') or untold
local over = ends ~= '0' and tonumber(ends) <= time
local letter = kind == 'message' and letter_of(mail, digest, name)
local news
if letter then
  news = 'message ' .. letter:match('^%d+') .. ' ' .. ms(time) .. '\n' .. letter:sub(letter:find('\0', 1, true) + 1)
elseif over then
  news = (kind == 'message' and 'late ' or 'slept ') .. ends .. ' ' .. ms(time)
else
  news = (kind == 'message' and 'wait ' or 'sleep ') .. ends
end
if news == text then return text end
bytes = bytes + #news + (text and -#text or #name)
if count + (text and 0 or 1) > tonumber(most) or bytes > tonumber(room) then return 'full' end

-- ASK HGET HSET PEXPIRE PTTL
if letter then
  -- ASK LINDEX LREM LSET
end
redis.call('HDEL', steps, '\0')
local id = element:sub(element:find(':', 1, true) + 1)
if note ~= '' and redis.call('HGET', trail, id) ~= fuller then redis.call('HSET', trail, id, note) end
if void then redis.call('UNLINK', steps) end
redis.call('HSET', steps, name, news, '', digest .. ' ' .. ms(bytes))
if letter then
  redis.call('LREM', mail, 1, letter)
  local left = tonumber(redis.call('LINDEX', mail, 0):match(' (%d+)$'))
  redis.call('LSET', mail, 0, digest .. ' ' .. ms(left - #letter))
end
life = ms(tonumber(life) + math.max(0, tonumber(ends) - time))
if redis.call('PTTL', steps) < tonumber(life) then redis.call('PEXPIRE', steps, life) end
return news
