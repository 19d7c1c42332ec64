-- job/log: appends lines to the log of a job that is held, and lets go of the oldest ones.
--
-- The first element of the list is its head: "# <number of the next line> <bytes> <last batch> <claim that sent it>";
-- each of the others is "<number> <line>". So a reader of any part knows what is missing, and a batch that is sent
-- again, or comes late, counts once. The lines are published too: they are gone as soon as the job has ended. That the
-- job has a log is noted in its trail, by which the script that ends it knows.
--
-- KEYS[1] log:<id>, KEYS[2] trail, KEYS[3] worker:<id>:inprocess:<name>
-- ARGV[1] element
-- ARGV[2] claim: worker and number of the fetch
-- ARGV[3] number of the batch, which grows within a claim
-- ARGV[4] trail that notes the log; empty where it is noted
-- ARGV[5] trail that notes a state as well: where that one stands, it stays
-- ARGV[6] how many lines are kept
-- ARGV[7] how many bytes are kept
-- ARGV[8] ms to live
-- ARGV[9..] lines, at most 100
-- RETURNS logged, or gone: the claim is
-- FIRST WRITE PEXPIRE, or HSET or RPUSH, refused at full memory
local log, trail, inprocess = unpack(KEYS)
local element, claim, batch, note, fuller, most, room, life = unpack(ARGV, 1, 8)

local nolog, length = bad('LLEN', log)
local refusal = nolog or bad('HLEN', trail) or bad('LLEN', inprocess)
if refusal then return refusal end
if not redis.call('LPOS', inprocess, element, 'RANK', -1) then return 'gone' end
local head = redis.call('LINDEX', log, 0)
local number, bytes, last, by = (head or '# 1 0 0 '):match('^# (%d+) (%d+) (%d+) (.*)$')
if not number then return redis.error_reply('BADKEY ' .. log .. ' is not a log') end
if by == claim and tonumber(batch) <= tonumber(last) then
  redis.call('PEXPIRE', log, life) -- the call that wrote it may have been refused this
  return 'logged'
end

local lines = {}
for i = 9, #ARGV do
  lines[i - 8] = ms(number + i - 9) .. ' ' .. ARGV[i]
  bytes = bytes + #lines[i - 8]
end
local kept, dropped = math.max(0, length - 1) + #lines, 0
local function over() return kept > tonumber(most) or bytes > tonumber(room) end
while over() and kept > 0 do
  local first = dropped + 1 -- behind the head
  local page = first < length and redis.call('LRANGE', log, first, first + 99)
    or { unpack(lines, 1 + math.max(0, dropped - math.max(0, length - 1))) }
  for _, line in ipairs(page) do
    if over() then kept, bytes, dropped = kept - 1, bytes - #line, dropped + 1 end
  end
end
-- Without their head lines would be written once more when they are sent again.
if head or dropped > 0 then
  -- ASK LSET
end
if dropped > 0 then
  -- ASK LTRIM
end
local id = element:sub(element:find(':', 1, true) + 1)
if note ~= '' and redis.call('HGET', trail, id) ~= fuller then redis.call('HSET', trail, id, note) end
local news = '# ' .. ms(number + #lines) .. ' ' .. ms(bytes) .. ' ' .. batch .. ' ' .. claim
redis.call('RPUSH', log, unpack(head and lines or { news, unpack(lines) }))
if dropped > 0 then redis.call('LTRIM', log, dropped, -1) end -- the last of these gives its place to the head
if head or dropped > 0 then redis.call('LSET', log, 0, news) end
redis.call('PEXPIRE', log, life)
-- PRELUDE tell
tell(log, table.concat(lines, '\n'))
return 'logged'
