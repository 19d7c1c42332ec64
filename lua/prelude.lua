-- prelude: what scripts share. The loader gives each file those functions that it uses.

-- now is Redis' clock in milliseconds; no decision rests on a client's.
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- moment is Redis' clock in milliseconds with three digits behind the point.
local function moment()
  local t = redis.call('TIME')
  return string.format('%s%03.0f.%03.0f', t[1], math.floor(t[2] / 1000), t[2] % 1000)
end

local function ms(time)
  return string.format('%.0f', time)
end

-- bad reads the key's length with the command of the type it should have. It returns a named error if the key has
-- another type, else nil and the length. Lua does not roll back, so each script asks this of all keys it will write,
-- before its first write.
local function bad(length, key)
  local answer = redis.pcall(length, key)
  if type(answer) == 'number' then return nil, answer end
  return redis.error_reply('BADKEY ' .. key .. ' has the wrong type for ' .. length)
end

-- wake leaves at least that many tokens for workers that wait. A broken list of tokens costs time, never a job.
local function wake(tokens, wanted)
  local have = redis.pcall('LLEN', tokens)
  if type(have) == 'number' and have < wanted then
    redis.call('LPUSH', tokens, unpack({ '1', '1' }, 1, wanted - have))
  end
end

-- tell publishes to who listens now. A cluster tells what is published by SPUBLISH to the servers of the slot, and what
-- is published by PUBLISH to all that it has. Who listens asks the same server, so that both use the same kind: the
-- other one where the server does not know this one, or does not allow it.
local function tell(channel, message)
  local heard = redis.pcall('SPUBLISH', channel, message)
  if type(heard) == 'table' and heard.err then redis.call('PUBLISH', channel, message) end
end

-- expect notes by when a worker must have beaten again. It is known of all of them anew within two seconds, so what has
-- another type is overwritten.
local function expect(deadlines, worker, time)
  local noted = redis.pcall('ZADD', deadlines, ms(time), worker)
  if type(noted) == 'table' and noted.err and noted.err:find('WRONGTYPE', 1, true) then
    redis.call('UNLINK', deadlines)
    redis.call('ZADD', deadlines, ms(time), worker)
  end
end

-- What a rate has used is kept as the time at which its burst will be whole again, in ms with six digits behind the
-- point. It is reckoned with as what is left until then, in whole ns: beside 1.8e12 ms a number has no place for the
-- part of a job.

-- owed is in how many ns a burst that takes so long is whole again. Where that cannot be, a clock was set back: nothing
-- is owed.
local function owed(rate, burst)
  local whole, part = (redis.call('GET', rate) or ''):match('^(%d+)%.?(%d*)')
  if not whole then return 0 end
  local t = redis.call('TIME')
  local ns = (whole - t[1] * 1000) * 1e6 + tonumber((part .. '000000'):sub(1, 6), 10) - t[2] * 1000
  return ns > burst + 1e9 and 0 or math.max(0, ns)
end

-- owe keeps that. The key lapses when nothing is owed any more, not before.
local function owe(rate, ns)
  local t = redis.call('TIME')
  local after = t[2] * 1000 + ns -- the second that has begun
  local whole = math.floor(after / 1e6)
  redis.call('SET', rate, string.format('%.0f.%06.0f', t[1] * 1000 + whole, math.max(0, after - whole * 1e6)),
    'PX', string.format('%.0f', whole - math.floor(t[2] / 1000) + 1))
end

-- room says how many jobs of a queue may begin now, or that many ns ahead: those that its rule leaves room for, at most
-- 500, and none while it is paused. A rule is "<paused 0 or 1> <concurrent> <jobs> <ms> <burst> ...", with "-" for what
-- is not limited; that of the name "" pauses all. The second value is in how many us one may begin, where only a rate
-- is in the way. Keys of a wrong type leave no room: whoever fetches reports them. The third value is true where no
-- rule is about the queue, and the fourth, beside the second, where it has a limit on what runs as well.
local function room(limits, name, running, rate, ahead)
  local rules = redis.pcall('HLEN', limits)
  if type(rules) ~= 'number' or rules == 0 then return 500, nil, true end
  local everything, rule = unpack(redis.call('HMGET', limits, '', name))
  if everything then return 0 end
  if not rule then return 500, nil, true end
  local paused, most, jobs, per, burst = rule:match('^(%d) (%S+) (%S+) (%S+) (%S+)')
  local begun = redis.pcall('SCARD', running)
  if paused ~= '0' or type(begun) ~= 'number' or type(redis.pcall('STRLEN', rate)) ~= 'number' then return 0 end
  local left = most == '-' and 500 or math.max(0, most - begun)
  if left == 0 or jobs == '-' then return left end
  local debt = owed(rate, burst * per * 1e6 / jobs)
  local more = burst - math.ceil((debt - (ahead or 0)) * jobs / (per * 1e6))
  if more > 0 then return math.min(left, more) end
  return 0, math.ceil((debt - (burst - 1) * per * 1e6 / jobs) / 1000), nil, most ~= '-'
end

-- summon leaves up to so many tokens for a queue of which jobs may begin now; where a rate is in the way one, for a
-- worker that asks, is told when, and waits for that.
local function summon(limits, name, tokens, running, rate, most)
  local left, wait = room(limits, name, running, rate)
  wake(tokens, math.min(most, wait and 1 or left))
end

-- spend notes that so many jobs of a queue begin, where its rule has a rate. It returns in how many us the first one
-- may (0 or less: now) and how many lie between two, where not all may begin now.
local function spend(limits, name, rate, jobs)
  local n, per, burst = (redis.call('HGET', limits, name) or ''):match('^%d %S+ (%d%S*) (%S+) (%S+)')
  if not n then return 0, 0 end
  local each = per * 1e6 / n
  local debt = owed(rate, burst * each)
  owe(rate, debt + math.ceil(jobs * per * 1e6 / n))
  local first = debt - (burst - 1) * each
  if first + (jobs - 1) * each <= 0 then return 0, 0 end
  return math.ceil(first / 1000), math.ceil(each / 1000)
end

-- before tells whether Redis sorts a before b. Lua compares strings by the rules of a language where the server has one
-- set; Redis orders members by their bytes.
local function before(a, b)
  local x, y = { a:byte(1, -1) }, { b:byte(1, -1) } -- at once: to ask for each byte costs ten times that
  for i = 1, math.min(#a, #b) do
    if x[i] ~= y[i] then return x[i] < y[i] end
  end
  return #a < #b
end

-- turn is the score of a job that is due at that ms, behind all that are due in it already. Redis sorts equal scores by
-- id, and ids that were made later sort later, so it is nearly always the ms itself; an id that would come before the
-- last one gets a 4096th of a ms more, as little as a number of this size can hold. (Behind 4095 of these, or after the
-- year 2109, ids decide.) What it found for a ms is kept in seen, so that many jobs of one call cost one read: turns
-- makes it for many ms. It is a number: Redis writes those of scripts with 17 digits.
local function turn(shelf, due, id, seen)
  local last = seen[due]
  if not last then
    local top = seen.whole and {} or redis.call('ZRANGE', shelf, '(' .. due + 1, due, 'BYSCORE', 'REV', 'LIMIT', 0, 1,
      'WITHSCORES')
    last = { id = top[1] or '', score = tonumber(top[2] or due) }
    seen[due] = last
  end
  if last.id ~= '' and before(id, last.id) then
    if last.score + 2 ^ -12 >= due + 1 then return last.score end
    last.score = last.score + 2 ^ -12
  end
  last.id = id
  return last.score
end

-- turns is the seen of turn for so many jobs that are due between two ms. Where not much stands there it is read at
-- once, and whole: a ms that it does not have is free. Else turn reads for each ms, which costs as much as to read
-- three of those that stand there.
local function turns(shelf, low, high, jobs)
  local seen = {}
  local between = redis.call('ZCOUNT', shelf, ms(low), '(' .. ms(high + 1))
  if between > 3 * jobs or between > 0 and low == high then return seen end
  seen.whole = true
  if between == 0 then return seen end
  local there = redis.call('ZRANGEBYSCORE', shelf, ms(low), '(' .. ms(high + 1), 'WITHSCORES')
  for i = 1, #there, 2 do
    local score = tonumber(there[i + 1])
    seen[math.floor(score)] = { id = there[i], score = score }
  end
  return seen
end

-- spread gives a group whose jobs are due at different times these, as numbers, and as they came where that is the
-- same; and when the first and the last of it are due.
local function spread(group, base, times)
  local dues, low, high = {}, math.huge, 0
  for nth = 1, group.size do
    local due = base + times[nth]
    if due < low then low = due end
    if due > high then high = due end
    dues[nth] = due
  end
  group.dues, group.texts, group.due, group.high = dues, base == 0 and times, low, high
  return dues
end

-- lineup is what is to be written of groups of jobs that are due later: {score, id, ...}, {id, queue, ...}, and when
-- the first is due. Those whose ids ascend need no turn at a ms that is free: Redis sorts them among each other.
local function lineup(shelf, groups, ascend)
  local low, high, jobs = math.huge, 0, 0
  for _, group in ipairs(groups) do
    low, high, jobs = math.min(low, group.due), math.max(high, group.high or group.due), jobs + group.size
  end
  local seen = turns(shelf, low, high, jobs)
  local scores, owners, n = {}, {}, 0
  for _, group in ipairs(groups) do
    local name, dues, texts, due, at, score = ARGV[4 + group.queue], group.dues, group.texts, group.due, group.first
    for nth = 1, group.size do
      local id = ARGV[at]
      if dues then due = dues[nth] end
      if dues or not score then
        -- Redis writes a number itself, but for each job
        local text = texts and texts[nth] or dues and seen.whole and due or ms(due)
        local free = ascend and not seen[due]
          and (seen.whole or redis.call('ZCOUNT', shelf, text, text .. '.9999') == 0)
        score = free and text or string.format('%.17g', turn(shelf, due, id, seen))
      end
      scores[n + 1], scores[n + 2], owners[n + 1], owners[n + 2] = score, id, id, name
      n, at = n + 2, at + 2
    end
    if seen[due] then seen[due].id = ARGV[at - 2] end
  end
  return scores, owners, low
end

-- elsewhere is the refusal of who goes by an older map of the partitions than the version that is known here: what it
-- stores may belong to another one by now.
local function elsewhere(version, map)
  if version and tonumber(version) > (tonumber(map) or 0) then return redis.error_reply('ROUTE ' .. version) end
end

-- answered is what a call of a lane was answered when it came before, or the error of one that is older than the last
-- one, or of one by an older map of the partitions than is known here, if map is given. Where there is none of these it
-- returns nil, what is kept of the last one, and its number.
local function answered(lanes, lane, number, map)
  local last, version = unpack(redis.call('HMGET', lanes, lane, ''))
  local n = last and last:match('^%d+')
  if n == number then return last:sub(#n + 2) end
  if n and tonumber(n) > tonumber(number) then
    return redis.error_reply('STALE lane ' .. lane .. ' is at call ' .. n)
  end
  if map then return elsewhere(version, map), last, n end
  return nil, last, n
end

-- rewound is what the answer to a call says where the last call of its lane is another one than that which its caller
-- knows to be answered. An older one: a failover has lost those between. A newer one, whose answer was lost: what that
-- one said is said again, until somebody has heard it.
local function rewound(last, n, known, number)
  if not n or tonumber(n) < tonumber(known) then return ' 0=rewound:' .. (n or '0') .. '-' .. number end
  return last:match(' 0=rewound:%d+%-%d+') or ''
end

-- put adds to the list of a key.
local function put(into, key, what)
  into[key] = into[key] or {}
  table.insert(into[key], what)
end

-- alive tells whether there is a job of that id: here, or in hand of a worker of another partition. No script names
-- these while there is one partition.
local function alive(jobs, foreign, id)
  return redis.call('HEXISTS', jobs, id) == 1 or foreign and redis.call('HEXISTS', foreign, id) == 1
end

-- Jobs that have a key wait by turns: in one sorted set for all queues, with the number of their queue times 2^43 and
-- their pass for a score. A pass counts in 840ths of a turn, so that what a weight divides it by is whole, or nearly.
-- 2^43 of them are 10^10 turns of a key; behind these all have the same pass, and ids decide.

-- line is where the turns of a queue begin, nil where it has none.
local function line(turning, name)
  local number = redis.pcall('HGET', turning, name)
  return type(number) == 'string' and number * 2 ^ 43 or nil
end

-- lined is how many jobs of a queue wait by turns.
local function lined(turns, turning, name)
  local base = line(turning, name)
  local count = base and redis.pcall('ZCOUNT', turns, ms(base), '(' .. ms(base + 2 ^ 43))
  return type(count) == 'number' and count or 0
end

-- line_up has jobs of a queue wait by turns: {id, key, weight, ...}, at most 500. The pass of a job is the last one of
-- its key, or that of the job that was taken last where that is later, and its part of a turn more. So a key that was
-- not there comes next, and one that has many jobs has its turn with each of them. It returns nil where 1,024 queues
-- have turns already: then nothing is done.
local function line_up(turns, passes, turning, name, jobs)
  local base = line(turning, name)
  if not base then
    local taken, number = {}, 0
    for _, n in ipairs(redis.call('HGETALL', turning)) do taken[n] = true end -- names do no harm
    while taken[ms(number)] do number = number + 1 end
    if number >= 1024 then return end
    redis.call('HSET', turning, name, ms(number))
    base = number * 2 ^ 43
  end
  local marks, at = { name .. '\0' }, {}
  for i = 2, #jobs, 3 do
    if not at[jobs[i]] then
      marks[#marks + 1] = name .. '\0' .. jobs[i]
      at[jobs[i]] = #marks
    end
  end
  local found = redis.call('ZMSCORE', passes, unpack(marks))
  local floor, scores, last, kept = tonumber(found[1] or base), {}, {}, {}
  for i = 1, #jobs, 3 do
    local key, n = jobs[i + 1], #scores
    local pass = math.max(last[key] or tonumber(found[at[key]] or base), floor) + math.floor(840 / jobs[i + 2])
    last[key] = math.min(pass, base + 2 ^ 43 - 1)
    scores[n + 1], scores[n + 2] = ms(last[key]), jobs[i]
  end
  for key, pass in pairs(last) do
    local n = #kept
    kept[n + 1], kept[n + 2] = ms(pass), marks[at[key]]
  end
  redis.call('ZADD', turns, unpack(scores))
  redis.call('ZADD', passes, unpack(kept))
  return true
end

-- sift keeps what has a record and no holder, each once, and returns how many that are. Others count
-- as dropped, but for those that have left for another partition.
local function sift(drops, ids, owners, records, holders)
  local n, seen, count = 0, {}, #ids
  for i = 1, count do
    if not records[i] and redis.pcall('SREM', drops.departed, ids[i]) == 1 then drops.count = drops.count - 1 end
    if records[i] and not holders[i] and not seen[ids[i]] then
      n = n + 1
      seen[ids[i]], ids[n], owners[n], records[n] = true, ids[i], owners[i], records[i]
    end
  end
  for i = n + 1, count do ids[i], records[i] = nil, nil end
  drops.count = drops.count + count - n
  return n
end

-- turn_back has those of some ids that have a key wait by turns before all others of their queue, in their old order,
-- and returns the other ones, with their places.
local function turn_back(turns, base, ids, places, known)
  if not base then return ids, places end
  local upto = '(' .. ms(base + 2 ^ 43)
  local first = redis.call('ZRANGE', turns, ms(base), upto, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  local scores, others, where = {}, {}, {}
  for i = #ids, 1, -1 do
    local n = #scores
    if known[i] then
      scores[n + 1], scores[n + 2] = ms(math.max(base, (first or base + 840) - n / 2 - 1)), ids[i]
    else
      table.insert(others, 1, ids[i])
      table.insert(where, 1, places[i])
    end
  end
  if #scores > 0 then redis.call('ZADD', turns, unpack(scores)) end
  return others, where
end

-- settle notes which pass of a queue was served last, and that of its list if jobs are left there, and forgets passes
-- that are not above: some in each call, so that what is kept is of keys that have jobs. Where nobody waits any more
-- all begin anew.
local function settle(passes, queue, served, loose, over, n)
  local base, name = queue.line, queue.name
  local upto, many = over and '(' .. ms(base + 2 ^ 43) or ms(served), over and 1000 or 2 * n + 64
  local old = redis.call('ZRANGE', passes, ms(base), upto, 'BYSCORE', 'LIMIT', 0, many)
  if #old > 0 then redis.call('ZREM', passes, unpack(old)) end
  if over and #old < many then return end
  if over then
    local last = redis.call('ZRANGE', passes, upto, ms(base), 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')[2]
    served = math.max(served, last and tonumber(last) or 0)
  end
  redis.call('ZADD', passes, ms(served), name .. '\0')
  if loose then redis.call('ZADD', passes, ms(loose), name .. '\0\0') end
end

-- draw takes up to n ids of a queue: of those that wait by turns, and of those in its list.
local function draw(turns, passes, queue, list, n)
  local base, have = queue.line, redis.pcall('LLEN', list)
  if type(have) ~= 'number' then return have end
  local upto = '(' .. ms(base + 2 ^ 43)
  local front = redis.call('ZRANGE', turns, ms(base), upto, 'BYSCORE', 'LIMIT', 0, n, 'WITHSCORES')
  if not front[1] then
    settle(passes, queue, base, false, true, n)
    return redis.call('RPOP', list, n) or {}
  end
  local marks = redis.call('ZMSCORE', passes, queue.name .. '\0', queue.name .. '\0\0')
  local served = tonumber(marks[1] or base)
  local loose, ids, taken, rest = tonumber(marks[2] or served), {}, {}, 0 -- since some were in the list
  while #ids < n and (front[2 * #taken + 1] or rest < have) do
    local pass = tonumber(front[2 * #taken + 2])
    if pass and (rest >= have or pass <= loose + 840) then
      ids[#ids + 1], served = front[2 * #taken + 1], math.max(served, pass)
      taken[#taken + 1] = ids[#ids]
    else
      loose, rest = loose + 840, rest + 1
      ids[#ids + 1], served = false, math.max(served, loose)
    end
  end
  if #taken > 0 then redis.call('ZREM', turns, unpack(taken)) end
  local popped, at = rest > 0 and redis.call('RPOP', list, rest) or {}, 0
  for i, id in ipairs(ids) do
    if not id then
      at = at + 1
      ids[i] = popped[at]
    end
  end
  settle(passes, queue, served, rest < have and loose, #front < 2 * n and 2 * #taken == #front, n)
  return ids
end

-- put_later puts the jobs that are due later on their shelf, and tells whoever moves them if one of them is the next.
local function put_later(keys, later, ascend, stamp)
  local scheduled, names, queues, control = unpack(keys)
  local next, known = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')[2], {}
  local scores, owners, low = lineup(scheduled, later, ascend)
  for g, group in ipairs(later) do known[2 * g - 1], known[2 * g] = stamp, ARGV[4 + group.queue] end
  redis.call('ZADD', scheduled, unpack(scores))
  redis.call('HSET', names, unpack(owners))
  redis.call('ZADD', queues, 'NX', unpack(known))
  if not next or low < tonumber(next) then tell(control, 'due') end
end

-- admit looks whether a single job may be stored at all, and returns why not; else it notes what is to be stored with
-- it. ARGV[from] is the first word about it.
local function admit(to, group, from)
  local id, mine, more = ARGV[group.first], ARGV[from]:match('^(.)(.?)')
  local digest, after = ARGV[from + 1], from + 4 + 2 * tonumber(ARGV[from + 4])
  local function lives(other) return to.stored[other] or alive(to.jobs, to.foreign, other) end
  if mine == '1' and lives(id) then return 'duplicate' end
  for i = from + 5, after, 2 do
    if not redis.call('ZSCORE', to.objects, ARGV[i + 1]) then return 'noobject:' .. ARGV[i + 1] end
  end
  if digest ~= '' then
    local held = to.taken[digest] or redis.call('HGET', to.unique, digest) or ''
    local owner, ends, kind = held:match('^(.*) (%d+) (%a)$')
    if owner and owner ~= id and (ends == '0' or tonumber(ends) > to.time) and (kind == 't' or lives(owner)) then
      return 'unique:' .. owner:gsub('.', function(c) return string.format('%02x', c:byte()) end)
    end
    local till, n = ARGV[from + 3] == '0' and '0' or ms(to.time + tonumber(ARGV[from + 3])), #to.locks
    to.taken[digest] = id .. ' ' .. till .. ' ' .. ARGV[from + 2]
    to.locks[n + 1], to.locks[n + 2] = digest, to.taken[digest]
  end
  for i = from + 5, after, 2 do put(to.members, KEYS[to.before_objects + ARGV[i]], id) end
  if mine == '1' then table.insert(to.chosen, id) end
  if more == '+' then table.insert(to.listed, id .. '\0' .. digest .. '\0' .. ARGV[4 + group.queue]) end
  to.stored[id] = true
end

-- with_keys are the jobs of groups, with what has them wait by turns: {id, key, weight, ...}.
local function with_keys(groups)
  local jobs = {}
  for _, group in ipairs(groups) do
    for nth = 0, group.keys and 2 * group.size - 2 or -1, 2 do
      local n = #jobs
      jobs[n + 1], jobs[n + 2] = ARGV[group.first + nth], ARGV[group.keys + nth]
      jobs[n + 3] = ARGV[group.keys + nth + 1]
    end
  end
  return jobs
end

-- know notes the keys of jobs, as with_keys tells them.
local function know(keyed, jobs)
  local known = {}
  for i = 1, #jobs, 3 do
    local n = #known
    known[n + 1], known[n + 2] = jobs[i], jobs[i + 2] .. ' ' .. jobs[i + 1]
  end
  if #known > 0 then redis.call('HSET', keyed, unpack(known)) end
end

-- store writes the records of new jobs: those of a group as they stand in ARGV, since to copy them costs as much as to
-- write them, and those of jobs that came one by one together.
local function store(jobs, groups)
  local single = {}
  for _, group in ipairs(groups) do
    local first, n = group.first, #single
    if group.size > 1 then
      redis.call('HSET', jobs, unpack(ARGV, first, first + 2 * group.size - 1))
    else
      single[n + 1], single[n + 2] = ARGV[first], ARGV[first + 1]
    end
  end
  if #single > 0 then redis.call('HSET', jobs, unpack(single)) end
end

-- weight is how long what is kept of a job is. It is read for that: a user who may do what earlier versions did may not
-- use HSTRLEN, and a script that is refused a command in its midst has done half of what it should.
local function weight(details, id)
  return #(redis.call('HGET', details, id) or '')
end

-- remember lists jobs that have ended in one state, with their details: {id, details, ms to keep them, id, ...}. The
-- oldest ones go where there are more than 10,000, or 16 MiB of details, at most 500 in a call; whoever adds so many
-- comes again. The field "" counts the bytes. Both keys live at least an hour longer than what was put there last, so
-- that what the janitor does not come by is no leak.
local function remember(ended, details, jobs, time)
  local bytes, longest = tonumber(redis.call('HGET', details, '') or 0) or 0, 0
  for i = 1, #jobs, 3 do
    bytes = bytes + #jobs[i + 1] - weight(details, jobs[i])
    redis.call('HSET', details, jobs[i], jobs[i + 1])
    redis.call('ZADD', ended, ms(time), jobs[i])
    longest = math.max(longest, jobs[i + 2] + 3600 * 1000)
  end
  local many = redis.call('ZCARD', ended)
  for _ = 1, 500 do
    if many <= 1 or many <= 10000 and bytes <= 16 * 1024 * 1024 then break end
    local oldest = redis.call('ZRANGE', ended, 0, 0)[1]
    bytes, many = bytes - weight(details, oldest), many - 1
    redis.call('ZREM', ended, oldest)
    redis.call('HDEL', details, oldest)
  end
  redis.call('HSET', details, '', ms(math.max(0, bytes)))
  if redis.call('PTTL', ended) < longest then redis.call('PEXPIRE', ended, ms(longest)) end
  if redis.call('PTTL', details) < longest then redis.call('PEXPIRE', details, ms(longest)) end
end

-- forget takes a job out of the list of those that have ended, with its details.
local function forget(ended, details, id)
  local left = (tonumber(redis.call('HGET', details, '') or 0) or 0) - weight(details, id)
  redis.call('ZREM', ended, id)
  if redis.call('HDEL', details, id) == 0 then return end
  if redis.call('HLEN', details) > 1 then
    redis.call('HSET', details, '', ms(math.max(0, left)))
  else
    redis.call('UNLINK', details)
  end
end

-- What follows is about feeds, whose keys have one of two forms each: that of the contract, or that of the released
-- programs.

-- unframed are the texts of a config that is a hash, as its caller knows it.
local function unframed(known)
  local texts, at = {}, 2
  while at <= #known do
    local colon = known:find(':', at, true)
    local length = tonumber(known:sub(at, colon - 1), 10)
    texts[#texts + 1] = known:sub(colon + 1, colon + length)
    at = colon + length + 1
  end
  return texts
end

-- outdated is the refusal of a call about a feed that is not there, or has another config than the caller knows: it
-- reads that again, and decides anew. A config that is a hash is known as a NUL, and then each field and each value
-- behind its length and a colon.
local function outdated(feeds, name, config, known)
  if redis.call('SISMEMBER', feeds, name) == 0 then return redis.error_reply('NOFEED there is no such feed') end
  local stale = redis.error_reply('STALE the config of the feed is another one')
  if known:sub(1, 1) ~= '\0' then
    if (redis.pcall('GET', config) or '') ~= known then return stale end
    return
  end
  local fields = unframed(known)
  if redis.pcall('HLEN', config) ~= #fields / 2 then return stale end
  for i = 1, #fields, 2 do
    if redis.call('HGET', config, fields[i]) ~= fields[i + 1] then return stale end
  end
end

-- unfit is the refusal of a call about keys of which one has a type that no feed has there: key, types, key, types ...
local function unfit(...)
  local wanted = { ... }
  for i = 1, #wanted, 2 do
    local found = redis.call('TYPE', wanted[i]).ok
    if found ~= 'none' and not (' ' .. wanted[i + 1] .. ' '):find(' ' .. found .. ' ', 1, true) then
      return redis.error_reply('BADFORM ' .. found .. ',' .. wanted[i + 1]:gsub(' ', ',') .. ' ' .. wanted[i])
    end
  end
end

-- released tells whether a feed has the form of the released programs, where a key that is not there cannot say so: its
-- config is a hash, or what was put into it is counted.
local function released(known, publishes)
  return known:sub(1, 1) == '\0' or redis.call('EXISTS', publishes) == 1
end

-- as_set tells whether a key is a set or a sorted set, or would be one.
local function as_set(key, known, publishes)
  local found = redis.call('TYPE', key).ok
  if found == 'none' then return released(known, publishes) end
  return found == 'zset' or found == 'set'
end

-- A claim c is an element of the list c.running and a field of the hash c.claimed. Or it is a member of the sorted set
-- c.claimed: then the time of ours ends in half a ms, as that of no other program does, and the hash c.tokens has its
-- token.

-- mark is the time of a claim and, if it is ours, its token.
local function mark(c, id)
  if not c.sorted then return redis.call('HGET', c.claimed, id) end
  local time = redis.call('ZSCORE', c.claimed, id)
  local ours = time and redis.call('HGET', c.tokens, id)
  return ours and ours:match('^%d+') .. '.5' == time and ours or time
end

-- is_ours tells whether somebody holds a job by this package: its tokens have 20 digits, which no time of others has.
local function is_ours(c, id)
  local marked = mark(c, id)
  if not marked or not marked:find('%.' .. ('%d'):rep(20) .. '$') then return false end
  return c.sorted or redis.call('LPOS', c.running, id)
end

-- hold claims a job, and returns the mark.
local function hold(c, id, token)
  local time = ms(now())
  local marked = time .. '.' .. token
  if c.sorted then
    redis.call('ZADD', c.claimed, time .. '.5', id)
    redis.call('HSET', c.tokens, id, marked)
  else
    redis.call('LPUSH', c.running, id)
    redis.call('HSET', c.claimed, id, marked)
  end
  return marked
end

-- release ends a claim but for its element of c.running. It returns how many claims that were.
local function release(c, id)
  if not c.sorted then
    redis.call('HDEL', c.claimed, id)
    return 0
  end
  redis.call('HDEL', c.tokens, id)
  return redis.call('ZREM', c.claimed, id)
end

-- cancels is how often a job was cancelled. Programs that cancel by the letter of the contract count those of all jobs
-- in one number; then it is 0.
local function cancels(cancelled, id)
  local n = redis.pcall('HGET', cancelled, id)
  return type(n) == 'string' and tonumber(n) or 0
end

local function count_cancel(cancelled, id)
  if redis.call('TYPE', cancelled).ok == 'string' then return redis.pcall('INCR', cancelled) end
  redis.pcall('HINCRBY', cancelled, id, 1)
end

local function forget_cancels(cancelled, id)
  redis.pcall('HDEL', cancelled, id)
end

-- count adds to what is counted of a feed. A broken key costs the count, and nothing else.
local function count(counts, what, n)
  redis.pcall('HINCRBY', counts, what, n or 1)
end

-- park puts a job aside. The released programs, which have a set of those, forget with it how often it was cancelled.
local function park(stalled, id, set, cancelled, published)
  if not set then return redis.call('RPUSH', stalled, id) end
  redis.call('SADD', stalled, id)
  redis.call('ZREM', published, id)
  forget_cancels(cancelled, id)
end
