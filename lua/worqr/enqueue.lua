-- worqr/enqueue: puts tasks at the back of a queue, unique ones only where none of their kind is waiting or being
-- worked on.
--
-- A task has no id, so a call that is sent again is known by its lane: the lane's key keeps the last number and its
-- answer. A number before that landed late and is refused. Which of several copies of the same bytes is the unique one
-- is kept as the number of copies that will be taken before it; only that one frees the lock.
--
-- KEYS[1] queues:<q>, KEYS[2] knownQueues, KEYS[3] lanes:<lane>, KEYS[4] uniqueWaiting:<q>, KEYS[5] channel:<q>:work
-- KEYS[6..] uniqueTasks:<q>:<hash> of each task that is to be unique
-- ARGV[1] number of the call
-- ARGV[2] ms that the lane is remembered
-- ARGV[3] queue
-- ARGV[4] owner of the locks: the lane and the number; empty for tasks that need not be unique
-- ARGV[5] how far into the queue copies are counted
-- ARGV[6..] the tasks, oldest first
-- RETURNS {stored or late, one character for each task: 1 it was put in, 0 there is one of its kind}
-- FIRST WRITE LPUSH, which a full Redis refuses
local queue, known, lane, waiting, channel = unpack(KEYS, 1, 5)
local number, life, name, owner, reach = unpack(ARGV, 1, 5)
local refusal = bad('LLEN', queue) or bad('SCARD', known) or bad('STRLEN', lane) or bad('HLEN', waiting)
for i = 6, #KEYS do refusal = refusal or bad('STRLEN', KEYS[i]) end
if refusal then return refusal end

local last, answer = (redis.call('GET', lane) or ''):match('^(%d+) (.*)$')
if last == number then return { 'stored', answer } end
if last and tonumber(last) > tonumber(number) then return { 'late', '' } end

local stored, flags = 0, {}
-- ASK SADD SET
if owner ~= '' then
  -- ASK HSET
end
for i = 6, #ARGV do
  local task, lock = ARGV[i], KEYS[i]
  if owner == '' then
    redis.call('LPUSH', queue, task)
    stored, flags[#flags + 1] = stored + 1, '1'
  elseif redis.call('EXISTS', lock) == 1 then
    flags[#flags + 1] = '0'
  else
    local copies = #redis.call('LPOS', queue, task, 'RANK', -1, 'COUNT', 0, 'MAXLEN', reach)
    redis.call('LPUSH', queue, task)
    local token = owner .. '-' .. (i - 5)
    redis.call('SET', lock, token)
    redis.call('HSET', waiting, redis.sha1hex(task), copies .. ' ' .. token)
    stored, flags[#flags + 1] = stored + 1, '1'
  end
end
answer = table.concat(flags)
if stored > 0 then redis.call('SADD', known, name) end
redis.call('SET', lane, number .. ' ' .. answer, 'PX', life)
if stored > 0 then redis.pcall('PUBLISH', channel, stored) end
return { 'stored', answer }
