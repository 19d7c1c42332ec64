-- flow/seal: seals a flow, of which all members are stored, so that it runs. What may run at once is put into its
-- queue. One that is in another flow is held instead until its turn has come: see flow/turn.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.members:<id>, KEYS[4] flow.left:<id>,
-- KEYS[5] flow.ends:<id>, KEYS[6] flow.edges:<id>, KEYS[7] flow.unmet:<id>, KEYS[8] flow.todo:<id>,
-- KEYS[9] flow.results:<id>, KEYS[10] flows:busy, KEYS[11] flows:over, KEYS[12] queues, KEYS[13] ready,
-- KEYS[14] limits, KEYS[15] jobs, KEYS[16] done, KEYS[17] control, KEYS[18] flows:filling
-- KEYS[19..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each queue
-- ARGV[1] id of the flow
-- ARGV[2] digest of what it is
-- ARGV[3] token of whoever seals it
-- ARGV[4] how many members it must have
-- ARGV[5] 1: it is held
-- ARGV[6..] names of the queues
-- RETURNS sealed, with the token of who has done that behind it; gone: there is no such flow; other: it is one with
--   another digest; or count, with how many members it has behind it. Where it has ended at once, as it has no members,
--   a line feed and that: see flow_finish
-- FIRST WRITE ZREM
local f, filling = flow_of({ unpack(KEYS, 1, 17) }, 18, { unpack(ARGV, 6) }), KEYS[18]
local id, digest, token, count, held = unpack(ARGV, 1, 5)
local refusal = flow_bad(f) or bad('ZCARD', filling)
if refusal then return refusal end

local stored, sealer, away = unpack(redis.call('HMGET', f.flow, 'digest', 'sealer', 'away'))
if not flow_read(f) then return 'gone' end
if f.state ~= 'filling' then return 'sealed ' .. (sealer or '') end
if stored ~= digest then return 'other' end
local have = redis.call('SCARD', f.left)
if have ~= tonumber(count) then return 'count ' .. have end

-- ASK HDEL
redis.call('ZREM', filling, id)
local time = now()
f.state = held == '1' and 'held' or 'running'
redis.call('HSET', f.flow, 'state', f.state, 'sealer', token, 'sealed', ms(time), 'total', have, 'edges',
  redis.call('ZCARD', f.edges))
if away then redis.call('HSET', f.flow, 'stored', have) end -- for who counts the members of a batch
if held ~= '1' then redis.call('ZADD', f.over, ms(4e15 + time), id) end -- not over yet, but behind all that are
flow_step(f, {})
return 'sealed ' .. token .. (f.told and '\n' .. f.told or '')
