-- job/step: writes what steps of a job that is held have come to, each once: what stands there stays. One that was
-- taken from its worker is refused, so that nobody writes beside the next holder. That the job has steps is noted in
-- its trail, by which the script that ends it knows.
--
-- The field "" is the head: "<digest of the record> <bytes of all fields>". Steps of another record are of an earlier
-- job of the same id, and count as none. A caller who knows of more steps than there are is told so, as Redis has
-- forgotten some: it sends all again.
--
-- KEYS[1] steps:<id>, KEYS[2] trail, KEYS[3] worker:<id>:inprocess:<name>
-- ARGV[1] element
-- ARGV[2] digest of the record
-- ARGV[3] trail that notes the steps; empty where they are noted
-- ARGV[4] trail that notes a log as well: where that one stands, it stays
-- ARGV[5] ms to live
-- ARGV[6] how many steps a job may have
-- ARGV[7] how many bytes, names and texts
-- ARGV[8] how many are there as far as the caller knows
-- ARGV[9..] name and text of each step, at most 1,000
-- RETURNS written; gone: the claim is; full: there would be too many, and nothing was done; lost: there are fewer than
--   the caller knows, and nothing was done
-- FIRST WRITE UNLINK, PEXPIRE, or HSET, refused at full memory
local steps, trail, inprocess = unpack(KEYS)
local element, digest, note, fuller, life, most, room, known = unpack(ARGV, 1, 8)

local nosteps, there = bad('HLEN', steps)
local refusal = nosteps or bad('HLEN', trail) or bad('LLEN', inprocess)
if refusal then return refusal end
if not redis.call('LPOS', inprocess, element, 'RANK', -1) then return 'gone' end
local of, bytes = (redis.call('HGET', steps, '') or ''):match('^(%S+) (%d+)$')
local void, count = of ~= digest, 0
if void then bytes = 0 else count, bytes = there - 1, tonumber(bytes) end
if count < tonumber(known) then return 'lost' end

local fields, seen = {}, {}
for i = 9, #ARGV, 2 do
  local name, n = ARGV[i], #fields
  if not seen[name] and (void or redis.call('HEXISTS', steps, name) == 0) then
    seen[name], fields[n + 1], fields[n + 2] = true, name, ARGV[i + 1]
    bytes = bytes + #name + #ARGV[i + 1]
  end
end
local lives = redis.call('PTTL', steps) >= tonumber(life)
if #fields == 0 then
  if not lives then redis.call('PEXPIRE', steps, life) end -- the call that wrote them may have been refused this
  return 'written'
end
if count + #fields / 2 > tonumber(most) or bytes > tonumber(room) then return 'full' end
if void and there > 0 then redis.call('UNLINK', steps) end
local id = element:sub(element:find(':', 1, true) + 1)
if note ~= '' and redis.call('HGET', trail, id) ~= fuller then redis.call('HSET', trail, id, note) end
fields[#fields + 1], fields[#fields + 2] = '', digest .. ' ' .. ms(bytes)
redis.call('HSET', steps, unpack(fields))
if void or not lives then redis.call('PEXPIRE', steps, life) end
return 'written'
