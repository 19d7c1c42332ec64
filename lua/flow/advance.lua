-- flow/advance: goes on with what is to be done about a flow: puts members into their queues that may run, looks at the
-- edges of those that have ended, ends the flow. Anyone may call it, until nothing is left.
--
-- KEYS[1] flow:<id>, KEYS[2] flow.records:<id>, KEYS[3] flow.members:<id>, KEYS[4] flow.left:<id>,
-- KEYS[5] flow.ends:<id>, KEYS[6] flow.edges:<id>, KEYS[7] flow.unmet:<id>, KEYS[8] flow.todo:<id>,
-- KEYS[9] flow.results:<id>, KEYS[10] flows:busy, KEYS[11] flows:over, KEYS[12] queues, KEYS[13] ready,
-- KEYS[14] limits, KEYS[15] jobs, KEYS[16] done, KEYS[17] control, KEYS[18] unique, KEYS[19] scheduled,
-- KEYS[20] names, KEYS[21] turns, KEYS[22] passes, KEYS[23] turning, KEYS[24] keyed
-- KEYS[25..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each queue
-- ARGV[1] id of the flow
-- ARGV[2] 1: the call is about special members too
-- ARGV[3..] names of the queues, as the texts of members have them
-- RETURNS {1 if something is left, 2 if that is to tell the members that the flow is cancelled, how it has ended now or
--   empty: see flow_finish, names of queues that were needed and not given}
-- FIRST WRITE HDEL (of a field that is never there)
local f = flow_of({ unpack(KEYS, 1, 17) }, 24, { unpack(ARGV, 3) })
local refusal, special = flow_bad(f), ARGV[2] == '1'
local unique, scheduled, names, turns, passes, turning, keyed = unpack(KEYS, 18, 24)
if special then
  refusal = refusal or bad('HLEN', unique) or bad('ZCARD', scheduled) or bad('HLEN', names) or bad('ZCARD', turns)
    or bad('ZCARD', passes) or bad('HLEN', turning) or bad('HLEN', keyed)
  -- ASK HGETALL ZCOUNT ZRANGE
end
if refusal then return refusal end
redis.call('HDEL', f.flow, '')
if flow_read(f) ~= 'running' then
  -- about one that is in another it may be there since its turn has come, or its end is to be told: see flow/turn
  if not ARGV[1]:find('/', 1, true) then redis.call('ZREM', f.busy, ARGV[1]) end
  return { 0, '' }
end

-- settle puts special members into their places, which f.enter has noted.
local settle = function() end
if special then
  -- PRELUDE before
  -- PRELUDE turn
  -- PRELUDE free
  -- PRELUDE line
  -- PRELUDE lined
  -- PRELUDE assign
  -- PRELUDE line_up
  local time, lines, dues, stored, records, known, locks = now(), {}, {}, {}, {}, {}, {}
  for i = 3, #ARGV do f.at[ARGV[i]:match('^\30?(.*)$')] = f.at[ARGV[i]] end
  f.unlock = function(item)
    local digest, name = item:match('^u([^\n]*)\n(.*)$')
    free(unique, f.id .. '/' .. name, digest)
  end
  local function push(id, queue, record)
    local put = flow_put(f, queue)
    local n = #put.ids + 1
    put.ids[n], put.stored[2 * n - 1], put.stored[2 * n] = id, id, record
  end
  f.enter = function(id, queue, text)
    local due, kind, digest, weight, key, record =
      text:match('^(%d+) (%S+) %d+ (%S+) (%d+) ([^\n]*)\n(.*)$')
    if kind ~= '-' and kind ~= 't' then locks[#locks + 1] = { id, digest, kind } end
    if weight ~= '0' then known[#known + 1], known[#known + 2] = id, weight .. ' ' .. key end
    if tonumber(due) > time then
      dues[#dues + 1] = { tonumber(due), id, queue }
    elseif weight ~= '0' then
      lines[queue] = lines[queue] or {}
      for _, what in ipairs({ id, key, weight }) do table.insert(lines[queue], what) end
    else
      push(id, queue, record)
    end
    stored[#stored + 1], stored[#stored + 2], records[id] = id, record, record
    return 'there'
  end

  local function know_queue(queue)
    if redis.call('ZADD', f.queues, 'NX', ms(time), queue) == 1 and queue:find('\31', 1, true) then
      tell(f.control, 'needs ' .. queue)
    end
  end
  -- enter has jobs of a queue wait by turns; like others where too many queues have turns.
  local function enter(queue, jobs)
    local empty, at = lined(turns, turning, queue) == 0, f.at[queue]
    if not line_up(turns, passes, turning, queue, jobs) then
      for i = 1, #jobs, 3 do push(jobs[i], queue, records[jobs[i]]) end
    elseif empty then
      know_queue(queue)
      redis.call('SADD', f.ready, queue)
      summon(f.limits, queue, KEYS[at + 1], KEYS[at + 2], KEYS[at + 3], 1)
    end
  end
  -- put_off has jobs wait for their time.
  local function put_off()
    local next, seen, low = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')[2], {}, math.huge
    for _, job in ipairs(dues) do
      local due, id, queue = unpack(job)
      redis.call('ZADD', scheduled, string.format('%.17g', turn(scheduled, due, id, seen)), id)
      redis.call('HSET', names, id, queue)
      know_queue(queue)
      low = math.min(low, due)
    end
    if #dues > 0 and (not next or low < tonumber(next)) then tell(f.control, 'due') end
  end

  settle = function()
    for _, lock in ipairs(locks) do
      local id, digest, kind = unpack(lock)
      local held = redis.call('HGET', unique, digest)
      if not held or held == id .. ' 0 t' then redis.call('HSET', unique, digest, id .. ' 0 ' .. kind) end
    end
    if #known > 0 then redis.call('HSET', keyed, unpack(known)) end
    for queue, jobs in pairs(lines) do enter(queue, jobs) end
    put_off()
    if #stored > 0 then redis.call('HSET', f.jobs, unpack(stored)) end
  end
end
local left = flow_advance(f, 500, {})
settle()
flow_push(f)
if f.called then tell(f.control, 'flows') end -- the caller goes on with this one alone
local untold = left and f.cancel == '1' and f.pending == 0
return { untold and 2 or left and 1 or 0, f.told or '', unpack(f.missing) }
