-- flow/cancel: cancels a flow: none of its members begins any more, and those that are named and wait are cancelled
-- here. The caller cancels the others as any job or any flow, page by page, and says when it has come to the end.
-- Until then the flow is in flows:busy, and anyone may go on.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.members:<id>, KEYS[4] flow.left:<id>,
-- KEYS[5] flow.ends:<id>, KEYS[6] flow.edges:<id>, KEYS[7] flow.unmet:<id>, KEYS[8] flow.todo:<id>,
-- KEYS[9] flow.results:<id>, KEYS[10] flows:busy, KEYS[11] flows:over, KEYS[12] queues, KEYS[13] ready,
-- KEYS[14] limits, KEYS[15] jobs, KEYS[16] done, KEYS[17] control, KEYS[18] unique
-- ARGV[1] id of the flow
-- ARGV[2] 1: all members that were left have been named
-- ARGV[3..] names of members, at most 500
-- RETURNS the state in which the flow is, or gone. Where it has ended now, a line feed and that: see flow_finish
-- FIRST WRITE HDEL (of a field that is never there)
local f = flow_of({ unpack(KEYS, 1, 17) }, 17, {})
local refusal = flow_bad(f) or bad('HLEN', KEYS[18])
if refusal then return refusal end
local state = flow_read(f)
if not state then return 'gone' end
if state ~= 'running' then return state end

redis.call('HDEL', f.flow, '')
if ARGV[2] == '1' or not f.cancel then
  f.cancel = ARGV[2] == '1' and '2' or '1'
  redis.call('HSET', f.flow, 'cancel', f.cancel)
end
local work = {}
for i = 3, #ARGV do flow_drop(f, work, ARGV[i]) end
for _, item in ipairs(work) do -- nothing is to be done about their edges: all are cancelled
  local digest, name = item:match('^u([^\n]*)\n(.*)$')
  -- PRELUDE free
  if digest then free(KEYS[18], f.id .. '/' .. name, digest) end
end
flow_step(f, {})
return f.state .. (f.told and '\n' .. f.told or '')
