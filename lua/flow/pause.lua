-- flow/pause: pauses a flow, so that none of its members is put into its queue; or lets it go on. Those that are there
-- already, or run, are not held up.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.members:<id>, KEYS[4] flow.left:<id>,
-- KEYS[5] flow.ends:<id>, KEYS[6] flow.edges:<id>, KEYS[7] flow.unmet:<id>, KEYS[8] flow.todo:<id>,
-- KEYS[9] flow.results:<id>, KEYS[10] flows:busy, KEYS[11] flows:over, KEYS[12] queues, KEYS[13] ready,
-- KEYS[14] limits, KEYS[15] jobs, KEYS[16] done, KEYS[17] control
-- ARGV[1] 1 to pause it, 0 to let it go on
-- RETURNS the state in which the flow is, or gone. Where it has ended now, a line feed and that: see flow_finish
-- FIRST WRITE HDEL
local f = flow_of({ unpack(KEYS, 1, 17) }, 17, {})
local refusal = flow_bad(f)
if refusal then return refusal end
local state = flow_read(f)
if state ~= 'running' then return state or 'gone' end
redis.call('HDEL', f.flow, 'paused')
f.paused = nil
if ARGV[1] == '1' then
  f.paused = '1'
  redis.call('HSET', f.flow, 'paused', '1')
end
flow_step(f, {})
return f.state .. (f.told and '\n' .. f.told or '')
