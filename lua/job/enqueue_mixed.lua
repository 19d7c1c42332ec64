-- job/enqueue_mixed: stores the jobs of one call of one lane whatever they are: of several queues, at the front and at
-- the back, due later, with ids that the caller chose, with locks and objects. It promises what enqueue does.
--
-- It looks at all jobs first, and then writes what goes to one place with one command. Who chooses an id again shall
-- not be told how the former job of that id has ended: that is forgotten when the new one is stored.
--
-- KEYS[1] lanes, KEYS[2] jobs, KEYS[3] queues, KEYS[4] ready, KEYS[5] limits
-- KEYS[6..] queue:<name>, wake:<name>, running:<name>, rate:<name> of each queue, then, where some have more than a
--   record, scheduled, names, control, unique, objects, outcomes, outcomes:until, object:<sha>:jobs of each object,
--   tracked, if some are, foreign where the call goes by a map, and, if some have keys, turns, passes, turning, keyed
-- ARGV[1] lane
-- ARGV[2] number of the call; behind a space that of the last one that was answered, if it is known, else 0; behind
--   another the version of the map of the partitions by which it goes, if there is one
-- ARGV[3] how many queues
-- ARGV[4] 1: some have more than a record: an id that the caller chose, a time, a lock, objects; 2: so it is, and the
--   ids of those that have a time ascend in the order of the call. With a "+" behind it some are tracked: they are
--   listed for who moves what is bound. With a "*" at the end some have a key
-- ARGV[5..] their names, then groups: queue (1 is the first), place (back, front, in, at), delay or time in ms,
--   how many jobs, then id and record of each, where it is due later in the order of their ids. If the delay or time is
--   empty, that of each follows. If the place has a "*" behind it key and weight of each follow: they wait by turns,
--   unless at the front. If the place has a "+" behind that there follow, of a single job: whether the caller
--   chose the id (0, 1), and "+" if it is tracked, digest of its lock, kind of lock (f until it has ended, s until it
--   begins, t for a time), ms that it lasts (0: no end), how many objects, then number of its key (1 is the first) and
--   sha of each
-- RETURNS time in ms, then " 0=rewound:5-8" where Redis has forgotten the calls of the lane between these, then for
--   each job that was not stored its number in this call and why: " 3=duplicate 5=badkey", or " 4=unique:" with the
--   bytes of the id of the job that has the lock in hex, or " 6=noobject:" with its sha. Where a newer map is known
--   here than its caller goes by nothing is done, and the error is ROUTE with its version
-- FIRST WRITE HSET, LPUSHX, RPUSHX, LPUSH, RPUSH or ZADD, refused at full memory as is all that stores what is new
local lanes, jobs, queues, ready, limits = unpack(KEYS, 1, 5)
local lane, count, special, ascend = ARGV[1], tonumber(ARGV[3]), ARGV[4]:sub(1, 1) ~= '0', ARGV[4]:sub(1, 1) == '2'
local number, known, map = ARGV[2]:match('^(%d+) ?0?(%d*) ?(%d*)')
local keys, end_of_keys = ARGV[4]:sub(-1) == '*', #KEYS - (ARGV[4]:sub(-1) == '*' and 4 or 0) -- some jobs have one
local before_objects, last_key = 12 + 4 * count, end_of_keys - (special and map ~= '' and 1 or 0) -- before foreign
local scheduled, names, control, unique, objects, outcomes, expiry = unpack(KEYS, before_objects - 6, before_objects)
local foreign, tracked = last_key < end_of_keys and KEYS[last_key + 1], ARGV[4]:find('+', 1, true) and KEYS[last_key]
local turns, passes, turning, keyed = unpack(KEYS, end_of_keys + 1)

local answer, last, n = answered(lanes, lane, number, map)
if answer then return answer end

local refusal, broken, time = bad('HLEN', jobs) or bad('ZCARD', queues) or bad('SCARD', ready), {}, now()
if special then
  refusal = refusal or bad('ZCARD', scheduled) or bad('HLEN', names) or bad('HLEN', unique) or bad('ZCARD', objects)
    or bad('HLEN', outcomes) or bad('ZCARD', expiry) or tracked and bad('LLEN', tracked)
  for i = before_objects + 1, tracked and last_key - 1 or last_key do refusal = refusal or bad('SCARD', KEYS[i]) end
  for queue = 1, count do broken[queue] = wrong('LLEN', KEYS[2 + 4 * queue]) end
end
if keys then
  refusal = refusal or bad('ZCARD', turns) or bad('ZCARD', passes) or bad('HLEN', turning) or bad('HLEN', keyed)
end
if refusal then return refusal end

-- ASK HSET LPUSH LPUSHX RPUSH RPUSHX SADD ZADD
-- ASK special: HDEL HEXISTS HGET ZCOUNT ZRANGE ZRANGEBYSCORE ZREM ZSCORE
-- ASK keys: HGET HGETALL ZCOUNT ZMSCORE
local stamp, reply = ms(time), ms(time)
if known ~= '' and known ~= n then
  -- PRELUDE rewound
  reply = reply .. rewound(last, n, known, number)
end

-- The groups that are to be stored, by the end of a queue where they go, and those that are due later. A group has its
-- queue, where it begins in ARGV, how many jobs it has, how many came before it, and when it is due, or when each of it
-- is. Others are refused.
local lists, later, lines = {}, {}, {}
local to = { jobs = jobs, foreign = foreign, objects = objects, unique = unique, time = time, stored = {}, taken = {},
  locks = {}, members = {}, chosen = {}, listed = {}, before_objects = before_objects } -- what admit goes by, and notes
local function refuse(group, why)
  for n = group.nth + 1, group.nth + group.size do reply = reply .. ' ' .. n .. '=' .. why end
end

-- sort puts a group where it belongs, if nothing is said against it, and it may go there.
local function sort(group, place, from)
  local key, timed = place == 'front' and -group.queue or group.queue,
    (place == 'in' or place == 'at') and group.due > time
  local why = not timed and broken[group.queue] and 'badkey'
  if from and not why then
    -- PRELUDE alive
    -- PRELUDE admit
    why = admit(to, group, from)
  end
  if why then
    refuse(group, why)
  elseif timed then
    later[#later + 1] = group
  elseif group.keys and place ~= 'front' then
    put(lines, group.queue, group)
  else
    put(lists, key, group)
  end
end

local at, nth = 5 + count, 0
while ARGV[at] do
  local queue, place, due, size = tonumber(ARGV[at]), ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local first, after, extended, has_keys = at + 4, at + 4 + 2 * size, place:sub(-1) == '+', place:find('*', 1, true)
  if extended or has_keys then place = place:match('^%a+') end
  local from_keys = has_keys and after + (due and 0 or size)
  local base = place == 'in' and time or 0
  local group = { queue = queue, first = first, size = size, nth = nth, due = due and base + due, keys = from_keys }
  if not due then
    local dues = spread(group, base, { unpack(ARGV, after, after + size - 1) })
    for n = 1, group.due > time and 0 or size do -- some are due already: each by itself
      sort({ queue = queue, first = first + 2 * n - 2, size = 1, nth = nth + n - 1, due = dues[n],
        keys = has_keys and from_keys + 2 * n - 2 }, place)
    end
    after = after + size
  end
  if has_keys then after = after + 2 * size end
  if due or group.due > time then sort(group, place, extended and after) end
  if extended then after = after + 5 + 2 * tonumber(ARGV[after + 4]) end
  at, nth = after, nth + size
end

-- announce says that there are jobs where none were. Workers do not know of a queue of jobs that need labels before
-- there is one.
local function announce(name, at)
  if redis.call('ZADD', queues, 'NX', stamp, name) == 1 and name:find('\31', 1, true) then
    -- PRELUDE tell
    tell(control, 'needs ' .. name)
  end
  redis.call('SADD', ready, name)
  summon(limits, name, KEYS[at + 1], KEYS[at + 2], KEYS[at + 3], 1)
end

-- push puts jobs into their queue, and returns why it could not, or an error.
local function push(groups, front)
  local name, at, ids = ARGV[4 + groups[1].queue], 2 + 4 * groups[1].queue, {}
  for _, group in ipairs(groups) do
    if group.keys then
      -- PRELUDE line
      -- PRELUDE assign
      assign(turning, name) -- so that a fetch looks at their keys
    end
    for i = group.first, group.first + 2 * group.size - 2, 2 do ids[#ids + 1] = ARGV[i] end
  end
  local length = redis.pcall(front and 'RPUSHX' or 'LPUSHX', KEYS[at], unpack(ids))
  if type(length) ~= 'number' then return length.err:find('WRONGTYPE', 1, true) and 'badkey' or length end
  if length > 0 then return end
  redis.call(front and 'RPUSH' or 'LPUSH', KEYS[at], unpack(ids))
  announce(name, at)
end

-- enter has jobs of a queue wait by turns, and returns why they cannot.
local function enter(queue, groups)
  -- PRELUDE line
  -- PRELUDE lined
  -- PRELUDE assign
  -- PRELUDE line_up
  -- PRELUDE with_keys
  local name, at, jobs = ARGV[4 + queue], 2 + 4 * queue, with_keys(groups)
  local empty = lined(turns, turning, name) == 0
  if not line_up(turns, passes, turning, name, jobs) then return 'crowded' end
  if empty then announce(name, at) end
end

for queue, groups in pairs(lines) do
  local why = enter(queue, groups)
  for _, group in ipairs(why and groups or {}) do refuse(group, why) end
  if not why then lists[count + queue] = groups end
end
for key, groups in pairs(lists) do
  local why = key <= count and push(groups, key < 0)
  if type(why) == 'table' then return why end
  for _, group in ipairs(why and groups or {}) do refuse(group, why) end
  if why then lists[key] = nil end
end
if #later > 0 then
  -- PRELUDE before
  -- PRELUDE turn
  -- PRELUDE turns
  -- PRELUDE lineup
  -- PRELUDE tell
  -- PRELUDE put_later
  put_later({ scheduled, names, queues, control }, later, ascend, stamp)
  lists[0] = later
end
if #to.locks > 0 then redis.call('HSET', unique, unpack(to.locks)) end
for key, ids in pairs(to.members) do redis.call('SADD', key, unpack(ids)) end
if #to.chosen > 0 and redis.call('HDEL', outcomes, unpack(to.chosen)) > 0 then
  redis.call('ZREM', expiry, unpack(to.chosen))
end
if #to.listed > 0 then redis.call('RPUSH', tracked, unpack(to.listed)) end
for _, groups in pairs(lists) do
  store(jobs, groups)
  if keys then
    -- PRELUDE with_keys
    -- PRELUDE know
    know(keyed, with_keys(groups))
  end
end

redis.call('HSET', lanes, lane, number .. ' ' .. reply)
return reply
