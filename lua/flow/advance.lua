-- flow/advance: goes on with what is to be done about a flow: puts members into their queues that may run, looks at the
-- edges of those that have ended, ends the flow. Anyone may call it, until nothing is left.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.members:<id>, KEYS[4] flow.left:<id>,
-- KEYS[5] flow.ends:<id>, KEYS[6] flow.edges:<id>, KEYS[7] flow.unmet:<id>, KEYS[8] flow.todo:<id>,
-- KEYS[9] flow.results:<id>, KEYS[10] flows:busy, KEYS[11] flows:over, KEYS[12] queues, KEYS[13] ready,
-- KEYS[14] limits, KEYS[15] jobs, KEYS[16] done, KEYS[17] control
-- KEYS[18..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each queue
-- ARGV[1] id of the flow
-- ARGV[2..] names of the queues
-- RETURNS {1 if something is left, 2 if that is to tell the members that the flow is cancelled, how it has ended now or
--   empty: see flow_finish, names of queues that were needed and not given}
-- FIRST WRITE HDEL (of a field that is never there)
local f = flow_of({ unpack(KEYS, 1, 17) }, 17, { unpack(ARGV, 2) })
local refusal = flow_bad(f)
if refusal then return refusal end
redis.call('HDEL', f.flow, '')
if flow_read(f) ~= 'running' then
  -- about one that is in another it may be there since its turn has come, or its end is to be told: see flow/turn
  if not ARGV[1]:find('/', 1, true) then redis.call('ZREM', f.busy, ARGV[1]) end
  return { 0, '' }
end
local left = flow_advance(f, 500, {})
flow_push(f)
if f.called then tell(f.control, 'flows') end -- the caller goes on with this one alone
local untold = left and f.cancel == '1' and f.pending == 0
return { untold and 2 or left and 1 or 0, f.told or '', unpack(f.missing) }
