-- repair/free_waiting: frees locks of members that waited with their flows, and are not to run any more: their flow is
-- gone, is being removed, or has ended, or they have. Some may have been freed by then, or belong to others.
--
-- KEYS[1] unique
-- KEYS[2..] flow:<id>, flow.left:<id> of each flow
-- ARGV[1..] of each lock its digest, the number of its flow (1 is the first), the id of that, and the member's name
-- RETURNS how many were freed
-- FIRST WRITE HDEL
local unique = KEYS[1]
local refusal = bad('HLEN', unique)
for i = 2, #KEYS, 2 do refusal = refusal or bad('HLEN', KEYS[i]) or bad('SCARD', KEYS[i + 1]) end
if refusal then return refusal end
local open = { filling = true, held = true, running = true, reopening = true }
local states, freed = {}, 0
for i = 2, #KEYS, 2 do states[i / 2] = redis.call('HGET', KEYS[i], 'state') or 'gone' end
for i = 1, #ARGV, 4 do
  local digest, n, flow, name = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 3]
  local owner, ends, kind = (redis.call('HGET', unique, digest) or ''):match('^(.*) (%d+) (%a)$')
  local waits = open[states[n]] and redis.call('SISMEMBER', KEYS[2 * n + 1], name) == 1
  if owner == flow .. '/' .. name and kind == 't' and not waits and (ends == '0' or not open[states[n]]) then
    freed = freed + redis.call('HDEL', unique, digest)
  end
end
return freed
