-- job/enqueue_mixed: stores the jobs of one call of one lane whatever they are: of several queues, at the front and at
-- the back, due later, with ids that the caller chose, with locks and objects. It promises what enqueue does.
--
-- It looks at all jobs first, and then writes what goes to one place with one command. Who chooses an id again shall
-- not be told how the former job of that id has ended: that is forgotten when the new one is stored.
--
-- KEYS[1] lanes, KEYS[2] jobs, KEYS[3] queues, KEYS[4] ready, KEYS[5] limits
-- KEYS[6..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each queue, then, where some have more than a
--   record, scheduled, names, control, unique, objects, outcomes, outcomes:until, and object:<sha>:jobs of each object
-- ARGV[1] lane
-- ARGV[2] number of the call, and behind a space that of the last one that was answered, if it is known
-- ARGV[3] how many queues
-- ARGV[4] 1: some have more than a record: an id that the caller chose, a time, a lock, objects; 2: so it is, and the
--   ids of those that have a time ascend in the order of the call
-- ARGV[5..] their names, then groups: queue (1 is the first), place (back, front, in, at), delay or time in ms,
--   how many jobs, then id and record of each, where it is due later in the order of their ids. If the delay or time is
--   empty, that of each follows. If the place has a "+" behind it there follow, of a single job: whether the caller
--   chose the id (0, 1), digest of its lock, kind of lock (f until it has ended, s until it begins, t for a time), ms
--   that it lasts (0: no end), how many objects, then number of its key (1 is the first) and sha of each
-- RETURNS time in ms, then " 0=rewound:5-8" where Redis has forgotten the calls of the lane between these, then for
--   each job that was not stored its number in this call and why: " 3=duplicate 5=badkey", or " 4=unique:" with the
--   bytes of the id of the job that has the lock in hex, or " 6=noobject:" with its sha
-- FIRST WRITE LPUSHX, RPUSHX, LPUSH, RPUSH or ZADD, refused at full memory as is all that stores what is new
local lanes, jobs, queues, ready, limits = unpack(KEYS, 1, 5)
local lane, count, special, ascend = ARGV[1], tonumber(ARGV[3]), ARGV[4] ~= '0', ARGV[4] == '2'
local number, known = ARGV[2]:match('^(%d+) ?(%d*)')
local before_objects = 12 + 4 * count -- keys
local scheduled, names, control, unique, objects, outcomes, expiry = unpack(KEYS, before_objects - 6, before_objects)

local answer, last, n = answered(lanes, lane, number)
if answer then return answer end

local refusal, broken, time = bad('HLEN', jobs) or bad('ZCARD', queues) or bad('SCARD', ready), {}, now()
if special then
  refusal = refusal or bad('ZCARD', scheduled) or bad('HLEN', names) or bad('HLEN', unique) or bad('ZCARD', objects)
    or bad('HLEN', outcomes) or bad('ZCARD', expiry)
  for i = before_objects + 1, #KEYS do refusal = refusal or bad('SCARD', KEYS[i]) end
  for queue = 1, count do broken[queue] = bad('LLEN', KEYS[2 + 4 * queue]) end
end
if refusal then return refusal end

local stamp, reply = ms(time), ms(time)
if known ~= '' and known ~= n then
  -- PRELUDE rewound
  reply = reply .. rewound(last, n, known, number)
end

-- The groups that are to be stored, by the end of a queue where they go, and those that are due later. A group has its
-- queue, where it begins in ARGV, how many jobs it has, how many came before it, and when it is due, or when each of it
-- is. Others are refused.
local lists, later, locks, members, chosen = {}, {}, {}, {}, {}
local function refuse(group, why)
  for n = group.nth + 1, group.nth + group.size do reply = reply .. ' ' .. n .. '=' .. why end
end

local admit, schedule -- nearly no call needs them, and a function costs as much as a command
if special then
  local stored, taken = {}, {} -- what this call will have stored

  local function lives(id) return stored[id] or redis.call('HEXISTS', jobs, id) == 1 end

  -- admit looks whether a job may be stored at all, and returns why not. ARGV[from] is the first word about it.
  function admit(id, from)
    local mine, digest, after = ARGV[from] == '1', ARGV[from + 1], from + 4 + 2 * tonumber(ARGV[from + 4])
    if mine and lives(id) then return 'duplicate' end
    for i = from + 5, after, 2 do
      if not redis.call('ZSCORE', objects, ARGV[i + 1]) then return 'noobject:' .. ARGV[i + 1] end
    end
    if digest ~= '' then
      local owner, ends, kind = (taken[digest] or redis.call('HGET', unique, digest) or ''):match('^(.*) (%d+) (%a)$')
      if owner and owner ~= id and (ends == '0' or tonumber(ends) > time) and (kind == 't' or lives(owner)) then
        return 'unique:' .. owner:gsub('.', function(c) return string.format('%02x', c:byte()) end)
      end
      local till = ARGV[from + 3] == '0' and '0' or ms(time + tonumber(ARGV[from + 3]))
      taken[digest] = id .. ' ' .. till .. ' ' .. ARGV[from + 2]
      locks[#locks + 1], locks[#locks + 2] = digest, taken[digest]
    end
    for i = from + 5, after, 2 do
      local key = KEYS[before_objects + ARGV[i]]
      members[key] = members[key] or {}
      table.insert(members[key], id)
    end
    if mine then chosen[#chosen + 1] = id end
    stored[id] = true
  end

  -- schedule puts the jobs that are due later on their shelf, and tells whoever moves them if one of them is the next.
  function schedule()
    local next, known = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')[2], {}
    local scores, owners, low = lineup(scheduled, later, ascend)
    for g, group in ipairs(later) do known[2 * g - 1], known[2 * g] = stamp, ARGV[4 + group.queue] end
    redis.call('ZADD', scheduled, unpack(scores))
    redis.call('HSET', names, unpack(owners))
    redis.call('ZADD', queues, 'NX', unpack(known))
    if not next or low < tonumber(next) then
      -- PRELUDE tell
      tell(control, 'due')
    end
  end
end

-- sort puts a group where it belongs, if nothing is said against it, and it may go there.
local function sort(group, place, admission)
  local key, timed = place == 'front' and -group.queue or group.queue,
    (place == 'in' or place == 'at') and group.due > time
  local why = not timed and broken[group.queue] and 'badkey' or admission and admit(ARGV[group.first], admission)
  if why then
    refuse(group, why)
  elseif timed then
    later[#later + 1] = group
  else
    lists[key] = lists[key] or {}
    table.insert(lists[key], group)
  end
end

local at, nth = 5 + count, 0
while ARGV[at] do
  local queue, place, due, size = tonumber(ARGV[at]), ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local first, after, extended = at + 4, at + 4 + 2 * size, place:sub(-1) == '+'
  if extended then place = place:sub(1, -2) end
  local base = place == 'in' and time or 0
  local group = { queue = queue, first = first, size = size, nth = nth, due = due and base + due }
  if not due then
    local dues = spread(group, base, { unpack(ARGV, after, after + size - 1) })
    for n = 1, group.due > time and 0 or size do -- some are due already: each by itself
      sort({ queue = queue, first = first + 2 * n - 2, size = 1, nth = nth + n - 1, due = dues[n] }, place)
    end
    after = after + size
  end
  if due or group.due > time then sort(group, place, extended and after) end
  if extended then after = after + 5 + 2 * tonumber(ARGV[after + 4]) end
  at, nth = after, nth + size
end

-- push puts jobs into their queue, and returns why it could not, or an error.
local function push(groups, front)
  local name, at, ids = ARGV[4 + groups[1].queue], 2 + 4 * groups[1].queue, {}
  for _, group in ipairs(groups) do
    for i = group.first, group.first + 2 * group.size - 2, 2 do ids[#ids + 1] = ARGV[i] end
  end
  local length = redis.pcall(front and 'RPUSHX' or 'LPUSHX', KEYS[at], unpack(ids))
  if type(length) ~= 'number' then return length.err:find('WRONGTYPE', 1, true) and 'badkey' or length end
  if length > 0 then return end
  redis.call(front and 'RPUSH' or 'LPUSH', KEYS[at], unpack(ids))
  redis.call('ZADD', queues, 'NX', stamp, name)
  redis.call('SADD', ready, name)
  summon(limits, name, KEYS[at + 1], KEYS[at + 2], KEYS[at + 3], 1)
end

for key, groups in pairs(lists) do
  local why = push(groups, key < 0)
  if type(why) == 'table' then return why end
  for _, group in ipairs(why and groups or {}) do refuse(group, why) end
  if why then lists[key] = nil end
end
if #later > 0 then schedule() lists[0] = later end
if #locks > 0 then redis.call('HSET', unique, unpack(locks)) end
for key, ids in pairs(members) do redis.call('SADD', key, unpack(ids)) end
if #chosen > 0 and redis.call('HDEL', outcomes, unpack(chosen)) > 0 then redis.call('ZREM', expiry, unpack(chosen)) end
for _, groups in pairs(lists) do store(jobs, groups) end

redis.call('HSET', lanes, lane, number .. ' ' .. reply)
return reply
