-- job/save: stores the state of a job that is held. One that was taken from its worker is refused, so that nobody
-- overwrites what the next holder has saved. What is stored says which save of which claim it is: one that comes late,
-- after a newer one of the same claim, changes nothing. That the job has a state is noted in its trail, by which the
-- script that ends it knows.
--
-- KEYS[1] state:<id>, KEYS[2] trail, KEYS[3] worker:<id>:inprocess:<name>
-- ARGV[1] element
-- ARGV[2] head: JSON up to the number of the save, with the claim in it
-- ARGV[3] number of the save, which grows within a claim
-- ARGV[4] rest: the JSON behind that number
-- ARGV[5] trail that notes the state; empty where it is noted
-- ARGV[6] trail that notes a log as well: where that one stands, it stays
-- ARGV[7] ms to live
-- RETURNS saved, or gone: the claim is
-- FIRST WRITE HSET or SET, refused at full memory
local state, trail, inprocess = unpack(KEYS)
local element, head, number, rest, note, fuller, life = unpack(ARGV)

local refusal = bad('STRLEN', state) or bad('HLEN', trail) or bad('LLEN', inprocess)
if refusal then return refusal end
if not redis.call('LPOS', inprocess, element, 'RANK', -1) then return 'gone' end
local before = redis.call('GETRANGE', state, 0, #head + 20)
local last = before:sub(1, #head) == head and before:sub(#head + 1):match('^%d+')
if last and tonumber(last) >= tonumber(number) then return 'saved' end

local id = element:sub(element:find(':', 1, true) + 1)
if note ~= '' and redis.call('HGET', trail, id) ~= fuller then redis.call('HSET', trail, id, note) end
redis.call('SET', state, head .. number .. rest, 'PX', life)
return 'saved'
