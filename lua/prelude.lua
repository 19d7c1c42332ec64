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

-- bad reads the key's length with the command of the type it should have. It returns nil and the length, a named
-- error if the key has another type, or what Redis refused it with. Lua does not roll back, so each script asks this of
-- all keys it will write, before its first write.
local function bad(length, key)
  local answer = redis.pcall(length, key)
  if type(answer) == 'number' then return nil, answer end
  if not answer.err:find('WRONGTYPE', 1, true) then return answer end
  return redis.error_reply('BADKEY ' .. key .. ' has the wrong type for ' .. length)
end

-- unless_refused is an answer of redis.pcall whose key may have another type. Any other error ends the script: to go on
-- as if nothing stood there would lose what does.
local function unless_refused(answer)
  if type(answer) == 'table' and answer.err and not answer.err:find('WRONGTYPE', 1, true) then error(answer) end
  return answer
end

-- wrong reports whether a key has another type than that command reads.
local function wrong(length, key)
  return type(unless_refused(redis.pcall(length, key))) ~= 'number'
end

-- misfit is which of two sets has another type, where a command about both failed; nil where that was refused, so that
-- nobody takes a sound key for a broken one.
local function misfit(failed, one, other)
  if not failed.err:find('WRONGTYPE', 1, true) then return end
  return wrong('SCARD', one) and one or other
end

-- wake leaves at least that many tokens for workers that wait. A token is a hint: a list that is broken, or that the
-- caller may not write, costs time, never a job.
local function wake(tokens, wanted)
  local have = redis.pcall('LLEN', tokens)
  if type(have) == 'number' and have < wanted then
    redis.pcall('LPUSH', tokens, unpack({ '1', '1' }, 1, wanted - have))
  end
end

-- tell publishes to who listens now. A cluster tells what is published by SPUBLISH to the servers of the slot, and what
-- is published by PUBLISH to all that it has. Who listens asks the same server, so that both use the same kind: the
-- other one where the server does not know this one, or does not allow it. It is a hint, and never ends a script.
local function tell(channel, message)
  local heard = redis.pcall('SPUBLISH', channel, message)
  if type(heard) == 'table' and heard.err then redis.pcall('PUBLISH', channel, message) end
end

-- expect notes by when a worker must have beaten again. It is known of all of them anew within two seconds, so what has
-- another type is overwritten, and a refusal raises nothing.
local function expect(deadlines, worker, time)
  local noted = redis.pcall('ZADD', deadlines, ms(time), worker)
  if type(noted) == 'table' and noted.err and noted.err:find('WRONGTYPE', 1, true) then
    redis.pcall('UNLINK', deadlines)
    redis.pcall('ZADD', deadlines, ms(time), worker)
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

-- rule_name is the name whose rule holds for a queue: that of its jobs. Behind it a queue may have what its jobs need.
local function rule_name(queue)
  return queue:match('^[^\31]*')
end

-- room says how many jobs of a queue may begin now, or that many ns ahead: those that its rule leaves room for, at most
-- 500, and none while it is paused. A rule is "<paused 0 or 1> <concurrent> <jobs> <ms> <burst> ...", with "-" for what
-- is not limited; that of the name "" pauses all. The second value is in how many us one may begin, where only a rate
-- is in the way. Keys of a wrong type leave no room: whoever fetches reports them. The third value is true where no
-- rule is about the queue, and the fourth, beside the second, where it has a limit on what runs as well.
local function room(limits, name, running, rate, ahead)
  local rules = unless_refused(redis.pcall('HLEN', limits))
  if type(rules) ~= 'number' or rules == 0 then return 500, nil, true end
  local everything, rule = unpack(redis.call('HMGET', limits, '', rule_name(name)))
  if everything then return 0 end
  if not rule then return 500, nil, true end
  local paused, most, jobs, per, burst = rule:match('^(%d) (%S+) (%S+) (%S+) (%S+)')
  local begun = unless_refused(redis.pcall('SCARD', running))
  if paused ~= '0' or type(begun) ~= 'number' then return 0 end
  if type(unless_refused(redis.pcall('STRLEN', rate))) ~= 'number' then return 0 end
  local left = most == '-' and 500 or math.max(0, most - begun)
  if left == 0 or jobs == '-' then return left end
  local debt = owed(rate, burst * per * 1e6 / jobs)
  local more = burst - math.ceil((debt - (ahead or 0)) * jobs / (per * 1e6))
  if more > 0 then return math.min(left, more) end
  return 0, math.ceil((debt - (burst - 1) * per * 1e6 / jobs) / 1000), nil, most ~= '-'
end

-- summon leaves up to so many tokens for a queue of which jobs may begin now; where a rate is in the way one, for a
-- worker that asks, is told when, and waits for that. Tokens are hints: a refused command leaves none, and never ends
-- the script.
local function summon(limits, name, tokens, running, rate, most)
  local known, left, wait = pcall(room, limits, name, running, rate)
  if known then wake(tokens, math.min(most, wait and 1 or left)) end
end

-- spend notes that so many jobs of a queue begin, where its rule has a rate. It returns in how many us the first one
-- may (0 or less: now) and how many lie between two, where not all may begin now.
local function spend(limits, name, rate, jobs)
  local n, per, burst = (redis.call('HGET', limits, rule_name(name)) or ''):match('^%d %S+ (%d%S*) (%S+) (%S+)')
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

-- letter_of is the oldest message of a name in the mailbox of a job with that record, as it stands there; nil where
-- there is none. A mailbox holds 100 at the most: see job/receive.
local function letter_of(mail, digest, name)
  local letters = redis.call('LRANGE', mail, 0, -1)
  if (letters[1] or ''):match('^%S+') ~= digest then return end
  for i = 2, #letters do
    local blank = letters[i]:find(' ', 1, true)
    if letters[i]:sub(blank + 1, blank + #name + 1) == name .. '\0' then return letters[i] end
  end
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

-- Jobs that have a key wait by turns: in one sorted set for all queues, with the number of their queue times 2^42 and
-- their pass for a score. A pass counts in 840ths of a turn, so that what a weight divides it by is whole, or nearly.
-- 2^42 of them are 5 * 10^9 turns of a key; behind these all have the same pass, and ids decide. The first job of a
-- queue has its turn at 2^30, so that there are passes before those of all that have not had their turn: from 2^19
-- before the pass that was served last on for jobs which were given a place of their key late, and from 2^20 before it
-- down for those that were given back. The numbers from 1,024 on are for jobs that are parked: their key has no room
-- for them, so that nobody need look at them.
--
-- parked finds those of a key, first come first, by "<number> NUL <key> NUL <pass> NUL <id>"; holding has the jobs that
-- have one of the places of their key, by "<number> NUL <key> NUL <id>", from their fetch, or from when they were given
-- the place of another one, until they have ended, or wait for another attempt. How many there are of a key Redis can
-- count. keyrules says how many there may be.

-- lines_at are the keys of all that, from that one of KEYS on.
local function lines_at(at)
  local turns, passes, turning, keyed, parked, holding, keyrules, pacing, waking, ready = unpack(KEYS, at, at + 9)
  return { turns = turns, passes = passes, turning = turning, keyed = keyed, parked = parked, holding = holding,
    keyrules = keyrules, pacing = pacing, waking = waking, ready = ready }
end

-- unsound is the refusal of keys of lines that have a wrong type. It notes how many jobs are parked, how many have
-- places, and whether any key has a rule, is to get one, or had one: if not, no job is given a place.
local function unsound(lines)
  local noparked, parked = bad('ZCARD', lines.parked)
  local norules, rules = bad('HLEN', lines.keyrules)
  local noplaces, places = bad('ZCARD', lines.holding)
  lines.aside, lines.ruled, lines.places = parked, parked and parked > 0 or rules and rules > 0, places
  return noparked or norules or noplaces or bad('HLEN', lines.turning)
    or bad('HLEN', lines.keyed)
    or lines.ruled and (bad('ZCARD', lines.turns) or bad('ZCARD', lines.passes) or bad('ZCARD', lines.pacing)
      or bad('ZCARD', lines.waking) or bad('SCARD', lines.ready)) or nil
end

-- to_draw are the keys of lines, for drawing jobs that may begin so many us ahead, and the refusal of one of a wrong
-- type.
local function to_draw(at, ahead)
  local lines = lines_at(at)
  lines.ahead, lines.waits, lines.put = ahead, {}, 0
  return lines, unsound(lines) or bad('ZCARD', lines.turns) or bad('ZCARD', lines.passes)
end

-- line is where the turns of a queue begin, nil where it has none.
local function line(turning, name)
  local number = unless_refused(redis.pcall('HGET', turning, name))
  return type(number) == 'string' and number * 2 ^ 42 or nil
end

-- lined is how many jobs of a queue wait by turns and may be drawn.
local function lined(turns, turning, name)
  local base = line(turning, name)
  local count = base and unless_refused(redis.pcall('ZCOUNT', turns, ms(base), '(' .. ms(base + 2 ^ 42)))
  return type(count) == 'number' and count or 0
end

-- assign is where the turns of a queue begin, also of one that had none. It returns nil where 1,024 queues have turns
-- already.
local function assign(turning, name)
  local base = line(turning, name)
  if base then return base end
  local taken, number = {}, 0
  for _, n in ipairs(redis.call('HGETALL', turning)) do taken[n] = true end -- names do no harm
  while taken[ms(number)] do number = number + 1 end
  if number >= 1024 then return end
  redis.call('HSET', turning, name, ms(number))
  return number * 2 ^ 42
end

-- line_up has jobs of a queue wait by turns: {id, key, weight, ...}, at most 500. The pass of a job is the last one of
-- its key, or that of the job that was taken last where that is later, and its part of a turn more. So a key that was
-- not there comes next, and one that has many jobs has its turn with each of them. It returns nil where 1,024 queues
-- have turns already: then nothing is done.
local function line_up(turns, passes, turning, name, jobs)
  local base = assign(turning, name)
  if not base then return end
  local marks, at = { name .. '\0' }, {}
  for i = 2, #jobs, 3 do
    if not at[jobs[i]] then
      marks[#marks + 1] = name .. '\0' .. jobs[i]
      at[jobs[i]] = #marks
    end
  end
  local found = redis.call('ZMSCORE', passes, unpack(marks))
  local floor, scores, last, texts, kept = tonumber(found[1] or base + 2 ^ 30), {}, {}, {}, {}
  local written, text -- a number is written once: many keys have the same pass
  for i = 1, #jobs, 3 do
    local key, n = jobs[i + 1], #scores
    local pass = math.max(last[key] or tonumber(found[at[key]] or base), floor) + math.floor(840 / jobs[i + 2])
    pass = math.min(pass, base + 2 ^ 42 - 1)
    if pass ~= written then written, text = pass, ms(pass) end
    last[key], texts[key], scores[n + 1], scores[n + 2] = pass, text, text, jobs[i]
  end
  for key, text in pairs(texts) do
    local n = #kept
    kept[n + 1], kept[n + 2] = text, marks[at[key]]
  end
  redis.call('ZADD', turns, unpack(scores))
  redis.call('ZADD', passes, unpack(kept))
  return true
end

-- micros is Redis' clock in us, read once in a call.
local function micros(lines)
  if not lines.time then
    local t = redis.call('TIME')
    lines.time = t[1] * 1e6 + t[2]
  end
  return lines.time
end

-- spot is what the members of a key begin with in parked and holding. Its first two parts name the key in pacing and
-- waking.
local function spot(base, key)
  return string.format('%04.0f', base / 2 ^ 42) .. '\0' .. key .. '\0'
end

-- within are the bounds between which a sorted set has what begins so.
local function within(prefix)
  return '[' .. prefix, '(' .. prefix:sub(1, -2) .. '\1'
end

-- key_rules are the rules of keys of a queue, by key; it has none of those that nothing restrains. A rule is
-- "<revision> <running> <jobs> <ms> <burst> ...", with "-" for what is not limited, and that of the queue goes on with
-- "o" and two letters where its keys are ordered: see shelve. One that is about a key alone goes first. The second
-- value is these letters, or nil. What is on its way to another partition has no room here: the rule of "" says what
-- that is, " <bucket> NUL <name> NUL ", any number of both.
local function key_rules(lines, name, keys)
  local fields, rules = { name, '' }, {}
  for i, key in ipairs(keys) do fields[i + 2] = name .. '\0' .. key end
  local found = redis.call('HMGET', lines.keyrules, unpack(fields))
  local function leaves(key)
    if not found[2] then return false end
    local bucket = tonumber(redis.sha1hex('k:' .. name .. '\0' .. key):sub(1, 2), 16)
    return found[2]:find(' ' .. ms(bucket) .. ' ', 1, true) or found[2]:find('\0' .. name .. '\0', 1, true)
  end
  local order = (found[1] or ''):match('^%d+ %S+ %S+ %S+ %S+ o(%a%a)')
  local function read(text, away)
    local most, jobs, per, burst = (text or ''):match('^%d+ (%S+) (%S+) (%S+) (%S+)')
    if not most and not away then return end
    most = order and math.min(tonumber(most) or 1, 1) or tonumber(most)
    return { most = away and 0 or most, jobs = tonumber(jobs), per = tonumber(per), burst = tonumber(burst),
      away = away }
  end
  local common = read(found[1]) -- once, as nearly all keys have it
  for i, key in ipairs(keys) do
    local away = leaves(key)
    rules[key] = (found[i + 2] or away) and read(found[i + 2] or found[1], away) or common
  end
  return rules, order
end

-- What a key has used of its rate is kept as the us in which its burst will be whole again.

-- pace is how many jobs of a key may begin now by its rate, or lines.ahead us before, in how many us the one behind
-- those may, and how much is owed. Where so much cannot be owed a clock was set back, and nothing is. What is kept is
-- asked for, unless it is known.
local function pace(lines, rule, at, known)
  if not rule or not rule.jobs then return 500 end
  local each, whole = rule.per * 1000, rule.burst * rule.per * 1000
  if known == nil then known = redis.call('ZSCORE', lines.pacing, at:sub(1, -2)) end
  local debt = tonumber(known or 0) - micros(lines)
  debt = debt > whole / rule.jobs + 1e6 and 0 or math.max(0, debt)
  local more = math.max(0, math.floor((whole - (debt - (lines.ahead or 0)) * rule.jobs) / each))
  return more, math.ceil(debt - (whole - (more + 1) * each) / rule.jobs), debt
end

-- charge notes of each key that so many of its jobs begin, of which so much was owed: {time, key, ...}. What is owed no
-- more is forgotten, some in each call.
local function charge(lines, charged)
  if #charged == 0 then return end
  local past = redis.call('ZRANGE', lines.pacing, '-inf', ms(micros(lines)), 'BYSCORE', 'LIMIT', 0, #charged + 16)
  if #past > 0 then redis.call('ZREM', lines.pacing, unpack(past)) end
  redis.call('ZADD', lines.pacing, unpack(charged))
end

-- rear is the last score of those jobs that were given a place of their key and have not begun, 0 where there is none.
local function rear(lines, at, from, to)
  local ids, last = {}, 0
  for i, member in ipairs(redis.call('ZRANGE', lines.holding, from, to, 'BYLEX', 'LIMIT', 0, 1000)) do
    ids[i] = member:sub(#at + 1)
  end
  for _, score in ipairs(ids[1] and redis.call('ZMSCORE', lines.turns, unpack(ids)) or {}) do
    last = math.max(last, score and tonumber(score) or 0)
  end
  return last
end

-- grant gives the free places of a key to those of its jobs that are parked, first come first: they may be drawn, and
-- hold the places already, so that nobody is before them. They come next, behind those of their key that do already.
-- Where the rate is in the way it is noted when that is over. It returns how many, at most 500, and whether more wait
-- for the rate.
local function grant(lines, name, base, key, rule)
  local at = spot(base, key)
  local from, to = within(at)
  local free = rule and rule.most and rule.most - redis.call('ZLEXCOUNT', lines.holding, from, to) or 500
  if free < 1 then return 0, false end
  local paced, wait = pace(lines, rule, at)
  local n = math.min(free, paced, 500)
  local first = redis.call('ZRANGE', lines.parked, from, to, 'BYLEX', 'LIMIT', 0, n + 1)
  local waits = #first > n and free > n and n < 500
  if waits then
    redis.call('ZADD', lines.waking, ms(base + math.ceil((micros(lines) + wait) / 1000)), at:sub(1, -2))
  end
  first[n + 1] = nil
  if #first > 0 then
    local floor = tonumber(redis.call('ZSCORE', lines.passes, name .. '\0') or base + 2 ^ 30)
    local scores, members = {}, {}
    local last = rule and rule.most == 1 and 0 or rear(lines, at, from, to) -- of one place none can be before
    for i, member in ipairs(first) do
      local id = member:sub(#at + 18)
      local pass = base + tonumber(member:sub(#at + 1, #at + 16), 10)
      last = math.max(pass < floor and floor - 2 ^ 19 or pass, last + 1)
      scores[2 * i - 1], scores[2 * i] = ms(last), id
      members[2 * i - 1], members[2 * i] = '0', at .. id
    end
    redis.call('ZREM', lines.parked, unpack(first))
    redis.call('ZADD', lines.turns, unpack(scores))
    redis.call('ZADD', lines.holding, unpack(members))
  end
  if waits or #first > 0 then redis.call('SADD', lines.ready, name) end
  return #first, waits
end

-- unpark takes what finds a job that is parked, which is to leave the turns, out of parked.
local function unpark(lines, id, score, known)
  local key, base = known and known:match('^%d+ (.*)$'), tonumber(score) - 2 ^ 52
  if not key or base < 0 then return end
  local pass = base % 2 ^ 42
  redis.call('ZREM', lines.parked, spot(base - pass, key) .. string.format('%016.0f', pass) .. '\0' .. id)
end

-- close_up has no key of a queue wait for turns of jobs that were taken out of its line: a purge may take far more than
-- anybody else has. New ones come behind the last that waits, at the latest.
local function close_up(lines, base, name)
  local last = unless_refused(redis.pcall('ZSCORE', lines.passes, name .. '\0'))
  last = type(last) == 'string' and tonumber(last) or base + 2 ^ 30
  for _, from in ipairs({ base, base + 2 ^ 52 }) do
    local upto = '(' .. ms(from + 2 ^ 42)
    local found = redis.call('ZRANGE', lines.turns, upto, ms(from), 'BYSCORE', 'REV', 'LIMIT', 0, 1,
      'WITHSCORES')
    if found[2] then last = math.max(last, found[2] - from + base) end
  end
  local upto, moved = '(' .. ms(base + 2 ^ 42), {}
  local far = redis.call('ZRANGE', lines.passes, '(' .. ms(last), upto, 'BYSCORE', 'LIMIT', 0, 500)
  for _, mark in ipairs(far) do
    if mark ~= name .. '\0\0' then moved[#moved + 1], moved[#moved + 2] = ms(last), mark end
  end
  if #moved > 0 then redis.call('ZADD', lines.passes, unpack(moved)) end
end

-- vacate takes jobs of a queue out of the places of their keys, as keyed tells those, and gives the places to jobs that
-- are parked. It tells whether the queue has something to fetch by that, or to wait for.
local function vacate(lines, name, ids, known)
  local base = line(lines.turning, name)
  if not base then return false end
  local members, keys, seen = {}, {}, {}
  for i, id in ipairs(ids) do
    local key = known[i] and known[i]:match('^%d+ (.*)$')
    if key then members[#members + 1] = spot(base, key) .. id end
    if key and not seen[key] then
      keys[#keys + 1] = key
      seen[key] = true
    end
  end
  if #members == 0 or redis.call('ZREM', lines.holding, unpack(members)) == 0 or lines.aside == 0 then return false end
  local rules, roomy = key_rules(lines, name, keys), false
  for _, key in ipairs(keys) do
    local given, waits = grant(lines, name, base, key, rules[key])
    roomy = roomy or given > 0 or waits
  end
  return roomy
end

-- rests tells whether a queue has nothing for a fetch: its list is empty, nobody waits by turns that may be drawn, and
-- no key waits for its rate.
local function rests(list, lines, name)
  return redis.call('LLEN', list) == 0 and lined(lines.turns, lines.turning, name) == 0
    and lined(lines.waking, lines.turning, name) == 0
end

-- withdraw takes a job that no worker holds out of the places of its key, as it goes to a shelf, and tells whether its
-- queue may have something to fetch by that. One that comes from another shelf stays, where those of ordered keys do:
-- see shelve.
local function withdraw(lines, name, id, shelved, dead)
  local _, order = key_rules(lines, name, {})
  if shelved and order and order:sub(dead and 2 or 1, dead and 2 or 1) == (dead and 's' or 'h') then return false end
  return vacate(lines, name, { id }, { redis.call('HGET', lines.keyed, id) })
end

-- depart takes ids out of a list: those that are near its front, and the rest of that part is written again, as by a
-- purge. Others stay, as departed.
local function depart(list, departed, ids, reach)
  local part, rest = redis.call('LRANGE', list, -reach, -1), {}
  for _, id in ipairs(part) do
    if ids[id] then ids[id] = false else rest[#rest + 1] = id end
  end
  if #rest < #part then
    redis.call('LTRIM', list, 0, -#part - 1)
    if #rest > 0 then redis.call('RPUSH', list, unpack(rest)) end
  end
  for id, left in pairs(#part == reach and ids or {}) do
    if left then redis.call('SADD', departed, id) end
  end
end

-- leave_line takes a job that goes to another partition out of what is kept of its key here. It returns "1" if it had a
-- place of the key, which goes with it and is given to nobody here, as all others of the key go too; and what the key
-- has used of its rate.
local function leave_line(lines, name, id, known, score)
  local base, key = line(lines.turning, name), known and known:match('^%d+ (.*)$')
  if not base or not key then return '', '' end
  if score then unpark(lines, id, score, known) end
  local at = spot(base, key)
  return redis.call('ZREM', lines.holding, at .. id) == 1 and '1' or '',
    redis.call('ZSCORE', lines.pacing, at:sub(1, -2)) or ''
end

-- sit_down has a job of another partition have its place of its key here, or gives that on; and notes what the key has
-- used of its rate there. It tells whether the queue may have something to fetch by that.
local function sit_down(lines, name, id, known, holds, paced)
  local base, key = assign(lines.turning, name), known:match('^%d+ (.*)$')
  if not base or not key then return false end
  if paced ~= '' then redis.call('ZADD', lines.pacing, 'GT', paced, spot(base, key):sub(1, -2)) end
  if not holds then return vacate(lines, name, { id }, { known }) end
  redis.call('ZADD', lines.holding, 0, spot(base, key) .. id)
  return false
end

-- bonds is what binds a job to its partition, as stragglers and foreign have it.
local function bonds(name, digest, whose)
  return name .. '\0' .. digest .. (whose ~= '' and '\0' .. whose or '')
end

-- free ends a lock, if that job has it.
local function free(unique, id, digest)
  local owner = digest ~= '' and (redis.call('HGET', unique, digest) or ''):match('^(.*) %d+ %a$')
  if owner == id then redis.call('HDEL', unique, digest) end
end

-- room_of is what the limits leave to all queues that count in one key together, of which the first one has found it.
local function room_of(rooms, running, left)
  rooms[running] = rooms[running] or { left = left, popped = 0 }
  return rooms[running]
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

-- ahead_of is the pass before which those of a queue stand that come before all others, also before what lines up from
-- now on; and that before which nobody stands who did not come so.
local function ahead_of(turns, passes, base, name)
  local upto = '(' .. ms(base + 2 ^ 42)
  local first = redis.call('ZRANGE', turns, ms(base), upto, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  local floor = tonumber(redis.call('ZSCORE', passes, name .. '\0') or base + 2 ^ 30)
  return math.min(first and tonumber(first) or floor, floor - 2 ^ 20), floor - 2 ^ 20
end

-- turn_back has those of some ids that have a key wait by turns before all others of their queue, in their old order,
-- and returns the other ones, with their places. They keep the places of their keys. Of older ones those stand before
-- them again that have not begun since they were given back: each belongs before the one of that place.
local function turn_back(lines, base, name, ids, places, known, older, before)
  if not base then return ids, places end
  local first, edge = ahead_of(lines.turns, lines.passes, base, name)
  local scores, members, others, where, left = {}, {}, {}, {}, #older
  local stand = left > 0 and redis.call('ZMSCORE', lines.turns, unpack(older))
  local function next_to_front(id)
    local n = #scores
    scores[n + 1], scores[n + 2] = ms(math.max(base, first - n / 2 - 1)), id
  end
  local function older_than(place)
    while left > 0 and before[left] > place do
      local score = tonumber(stand[left] or -1)
      if score >= base and score < edge then next_to_front(older[left]) end
      left = left - 1
    end
  end
  for i = #ids, 1, -1 do
    local n, key = #members, known[i] and known[i]:match('^%d+ (.*)$')
    if key then
      older_than(places[i])
      next_to_front(ids[i])
      members[n + 1], members[n + 2] = '0', spot(base, key) .. ids[i]
    else
      table.insert(others, 1, ids[i])
      table.insert(where, 1, places[i])
    end
  end
  if #members > 0 then
    older_than(0)
    redis.call('ZADD', lines.turns, unpack(scores))
    if redis.call('ZCARD', lines.holding) > 0 then redis.call('ZADD', lines.holding, unpack(members)) end
  end
  return others, where
end

-- join has jobs that come from another partition wait by turns: behind the others of their keys, or, what goes to the
-- front, before all others, the last one first. It returns nil where there are too many queues with turns.
local function join(turns, passes, turning, name, jobs, front)
  local base, scores = front and line(turning, name), {}
  if not base then return line_up(turns, passes, turning, name, jobs) end
  local first = ahead_of(turns, passes, base, name)
  for i = 1, #jobs, 3 do
    local n = #scores
    scores[n + 1], scores[n + 2] = ms(math.max(base, first - n / 2 - 1)), jobs[i]
  end
  redis.call('ZADD', turns, unpack(scores))
  return true
end

-- first_rank is where the scores of a queue begin in a sorted set of all queues.
local function first_rank(set, base)
  return base == 0 and 0 or redis.call('ZCOUNT', set, '-inf', '(' .. ms(base))
end

-- settle notes which pass of a queue was served last, and that of its list if jobs are left there, and forgets passes
-- that are not above: some in each call, so that what is kept is of keys that have jobs. Where nobody waits any more
-- all begin anew.
local function settle(passes, queue, served, loose, over, n)
  local base, name = queue.line, queue.name
  local upto, many = over and '(' .. ms(base + 2 ^ 42) or ms(served), over and 1000 or 2 * n + 64
  local old = redis.call('ZCOUNT', passes, ms(base), upto)
  if old > 0 then -- by rank: to name those that go costs as much again
    local first = first_rank(passes, base)
    redis.call('ZREMRANGEBYRANK', passes, first, first + math.min(old, many) - 1)
  end
  if over and old < many then return end
  if over then
    local last = redis.call('ZRANGE', passes, upto, ms(base), 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')[2]
    served = math.max(served, last and tonumber(last) or 0)
  end
  redis.call('ZADD', passes, ms(served), name .. '\0')
  if loose then redis.call('ZADD', passes, ms(loose), name .. '\0\0') end
end

-- draw_turns is draw where no key has a rule and nothing is in the list: the ids are all that is asked for.
local function draw_turns(lines, queue, n)
  local base = queue.line
  local ids = redis.call('ZRANGE', lines.turns, ms(base), '(' .. ms(base + 2 ^ 42), 'BYSCORE', 'LIMIT', 0, n)
  ids.served, ids.over = base + 2 ^ 30, #ids < n
  if #ids == 0 then return ids end
  local before = redis.call('ZSCORE', lines.passes, queue.name .. '\0') or base + 2 ^ 30
  ids.served = math.max(tonumber(before), tonumber(redis.call('ZSCORE', lines.turns, ids[#ids])))
  local first = first_rank(lines.turns, base)
  redis.call('ZREMRANGEBYRANK', lines.turns, first, first + #ids - 1)
  return ids
end

-- draw takes up to n ids of a queue out of where they wait, with the pass of each: of those that wait by turns, and of
-- those in its list, which are noted as listed. It tells which pass was served last before, that of the list if jobs
-- are left there, and whether nothing is left that may be drawn.
local function draw(lines, queue, list, n)
  local base, have = queue.line, unless_refused(redis.pcall('LLEN', list))
  if type(have) ~= 'number' then return have end
  if have == 0 and not lines.ruled then return draw_turns(lines, queue, n) end
  local front = redis.call('ZRANGE', lines.turns, ms(base), '(' .. ms(base + 2 ^ 42), 'BYSCORE', 'LIMIT', 0, n,
    'WITHSCORES')
  local marks = (front[1] or lines.aside > 0)
    and redis.call('ZMSCORE', lines.passes, queue.name .. '\0', queue.name .. '\0\0') or {}
  local served = tonumber(marks[1] or base + 2 ^ 30)
  local loose, ids, taken, rest = tonumber(marks[2] or served), {}, {}, 0 -- since some were in the list
  ids.at, ids.listed, ids.served = {}, {}, served
  if not front[1] then loose = base - 840 * n end -- nobody has turns beside them
  while #ids < n and (front[2 * #taken + 1] or rest < have) do
    local pass, i = tonumber(front[2 * #taken + 2]), #ids + 1
    if pass and (rest >= have or pass <= loose + 840) then
      ids[i], ids.at[i] = front[2 * #taken + 1], pass
      taken[#taken + 1] = ids[i]
    else
      loose, rest = loose + 840, rest + 1
      ids[i], ids.at[i], ids.listed[i] = false, loose, true
    end
  end
  if #taken > 0 then redis.call('ZREM', lines.turns, unpack(taken)) end
  local popped, at = rest > 0 and redis.call('RPOP', list, rest) or {}, 0
  for i, id in ipairs(ids) do
    if not id then
      at = at + 1
      ids[i] = popped[at]
    end
  end
  ids.loose, ids.over = front[1] and rest < have and loose, #front < 2 * n and 2 * #taken == #front
  return ids
end

-- put_aside parks jobs of a key that were drawn: late with their passes; early, which came from the list or hold a
-- place, before all that are parked. They hold no place then.
local function put_aside(lines, base, state, served)
  local first = state.first and tonumber(state.first:sub(#state.at + 1, #state.at + 16), 10)
  first = math.min(first or 2 ^ 42, state.late[2] or first or math.max(#state.early, served - base))
  local scores, members, held, early = {}, {}, {}, #state.early
  local function park_at(pass, id)
    local n = #scores
    scores[n + 1], scores[n + 2] = ms(2 ^ 52 + base + pass), id
    members[n + 1], members[n + 2] = '0', state.at .. string.format('%016.0f', pass) .. '\0' .. id
  end
  for i, id in ipairs(state.early) do
    park_at(math.max(0, first - early + i - 1), id)
    held[i] = state.at .. id
  end
  for i = 1, #state.late, 2 do park_at(state.late[i + 1], state.late[i]) end
  if early > 0 then redis.call('ZREM', lines.holding, unpack(held)) end
  redis.call('ZADD', lines.turns, unpack(scores))
  redis.call('ZADD', lines.parked, unpack(members))
  return #scores / 2
end

-- vacant is how many drawn jobs that have a place of their key may begin where more have one than there are, since the
-- key has fewer now, or is stopped: those that run, or wait for another attempt, go first.
local function vacant(lines, at, most, drawn)
  local from, to = within(at)
  local ids, mine = {}, {}
  for _, id in ipairs(drawn) do mine[id] = true end
  for i, member in ipairs(redis.call('ZRANGE', lines.holding, from, to, 'BYLEX', 'LIMIT', 0, 1000)) do
    ids[i] = member:sub(#at + 1)
  end
  for i, waits in ipairs(redis.call('ZMSCORE', lines.turns, unpack(ids))) do
    if not waits and not mine[ids[i]] then most = most - 1 end
  end
  return most
end

-- seats_of counts the jobs that have places of some keys. Where few have any all are read at once: to count those of
-- each key costs a call.
local function seats_of(lines, base, keys, at)
  local counts = {}
  if lines.places > 4 * #keys then
    for _, key in ipairs(keys) do counts[key] = redis.call('ZLEXCOUNT', lines.holding, within(at[key])) end
    return counts
  end
  for _, member in ipairs(redis.call('ZRANGE', lines.holding, 0, -1)) do
    local number, key = member:match('^(%d+)%z(%Z*)')
    if tonumber(number) == base / 2 ^ 42 then counts[key] = (counts[key] or 0) + 1 end
  end
  return counts
end

-- states_of is what there is of those keys of drawn jobs that have a rule: how many may begin, by their places and by
-- their rate, and who of them is parked first.
local function states_of(lines, base, keys, at, rules, drawn)
  local limited, paced, spots, states = {}, {}, {}, {}
  for _, key in ipairs(keys) do
    local rule = rules[key]
    if rule and rule.most then limited[#limited + 1] = key end
    if rule and rule.jobs then paced[#paced + 1], spots[#spots + 1] = key, at[key]:sub(1, -2) end
  end
  local counts = #limited > 0 and seats_of(lines, base, limited, at)
  local owes = {}
  for i, known in ipairs(#paced > 0 and redis.call('ZMSCORE', lines.pacing, unpack(spots)) or {}) do
    owes[paced[i]] = known
  end
  for _, key in ipairs(keys) do
    local rule = rules[key]
    if rule then
      local more, _, debt = pace(lines, rule, at[key], owes[key])
      local from, to
      if lines.aside > 0 then from, to = within(at[key]) end
      states[key] = { rule = rule, at = at[key], more = more, debt = debt, early = {}, late = {}, begun = 0,
        free = rule.most and rule.most - (counts[key] or 0) or 1e9,
        first = from and redis.call('ZRANGE', lines.parked, from, to, 'BYLEX', 'LIMIT', 0, 1)[1] }
      if states[key].free < 0 and not rule.away then
        states[key].vacant = vacant(lines, at[key], rule.most, drawn)
      end
    end
  end
  return states
end

-- seat has those of some drawn jobs begin whose key has room for them, and parks the others: they are found again when
-- there is room. Who holds a place of its key needs none, as long as no more hold one than there are; who does not
-- comes behind those that are parked. It returns how many were given a place meanwhile, which may be drawn now.
local function seat(lines, queue, drawn, begun)
  local base, keys, of, at, members = queue.line, {}, {}, {}, {}
  for i, known in ipairs(redis.call('HMGET', lines.keyed, unpack(drawn))) do
    local key = known and known:match('^%d+ (.*)$')
    if key then
      if not at[key] then keys[#keys + 1], at[key] = key, spot(base, key) end
      of[i], members[#members + 1] = key, at[key] .. drawn[i]
    end
  end
  local rules = #keys > 0 and key_rules(lines, queue.name, keys) or {}
  local holders = next(rules) and redis.call('ZMSCORE', lines.holding, unpack(members))
  local states, seated, charged, nth, given = {}, {}, {}, 0, 0
  if holders then states = states_of(lines, base, keys, at, rules, drawn) end
  for i, id in ipairs(drawn) do
    local state, held = states[of[i]], nil
    if of[i] then
      nth = nth + 1
      held = holders and holders[nth]
    end
    local free = not state or state.more > 0
      and (held and (state.vacant or 1) > 0 or not held and state.free > 0 and not state.first)
    if free then
      begun[#begun + 1], queue.served = id, math.max(queue.served or 0, drawn.at[i])
      local n = #seated
      if of[i] then seated[n + 1], seated[n + 2] = '0', at[of[i]] .. id end
      if state then
        if state.debt then
          local rule = state.rule
          local wait = state.debt + (state.begun - rule.burst + 1) * rule.per * 1000 / rule.jobs
          if wait > 0 then lines.waits[id] = math.ceil(wait) end
        end
        state.begun, state.more, state.free = state.begun + 1, state.more - 1, state.free - (held and 0 or 1)
        if state.vacant then state.vacant = state.vacant - 1 end
      end
    elseif held or drawn.listed[i] then
      table.insert(state.early, id)
      if held then state.free = state.free + 1 end
    else
      local n = #state.late
      state.late[n + 1], state.late[n + 2] = id, drawn.at[i] - base
    end
  end
  if #seated > 0 then redis.call('ZADD', lines.holding, unpack(seated)) end
  lines.places = lines.places + #seated / 2
  for _, state in pairs(states) do
    local n, rule = #charged, state.rule
    if state.debt and state.begun > 0 then
      charged[n + 1] = ms(micros(lines) + state.debt + math.ceil(state.begun * rule.per * 1000 / rule.jobs))
      charged[n + 2] = state.at:sub(1, -2)
    end
  end
  charge(lines, charged)
  for key, state in pairs(states) do
    if #state.early + #state.late > 0 then
      local n = put_aside(lines, base, state, drawn.served)
      lines.aside, lines.put = lines.aside + n, lines.put + n
      if state.free > 0 then given = given + grant(lines, queue.name, base, key, state.rule) end
    end
  end
  return given
end

-- begin_all is seat where no key has a rule: all begin.
local function begin_all(queue, drawn, begun)
  for i, id in ipairs(drawn) do
    begun[#begun + 1] = id
    if drawn.at then queue.served = math.max(queue.served, drawn.at[i]) end
  end
end

-- rouse gives places to those keys of a queue whose rate leaves room again.
local function rouse(lines, name, base)
  local time = base + math.floor((micros(lines) + lines.ahead) / 1000)
  local due = redis.call('ZRANGE', lines.waking, ms(base), ms(time), 'BYSCORE', 'LIMIT', 0, 100)
  if #due == 0 then return end
  redis.call('ZREM', lines.waking, unpack(due))
  local keys = {}
  for i, member in ipairs(due) do keys[i] = member:sub(6) end
  local rules = key_rules(lines, name, keys)
  for _, key in ipairs(keys) do grant(lines, name, base, key, rules[key]) end
end

-- awaited is in how many us a key of a queue wakes whose jobs wait for its rate alone, nil where there is none.
local function awaited(lines, base)
  local first = redis.call('ZRANGE', lines.waking, ms(base), '(' .. ms(base + 2 ^ 42), 'BYSCORE', 'LIMIT', 0, 1,
    'WITHSCORES')[2]
  return first and math.max(0, (first - base) * 1000 - micros(lines))
end

-- serve takes up to n ids of a queue that may begin. In more it tells that others may be left: it parks about 500 in a
-- call at the most.
local function serve(lines, queue, list, n)
  local base, begun, more = queue.line, {}, false
  if lines.ruled and not queue.roused then
    queue.roused = true
    rouse(lines, queue.name, base)
  end
  repeat
    local wanted = n - #begun
    local drawn = draw(lines, queue, list, wanted)
    if drawn.err then return drawn end
    queue.served = drawn.served
    local given = lines.ruled and #drawn > 0 and seat(lines, queue, drawn, begun) or 0
    if not lines.ruled then begin_all(queue, drawn, begun) end
    local over = drawn.over and given == 0 and (lines.aside == 0
      or redis.call('ZCOUNT', lines.turns, ms(2 ^ 52 + base), '(' .. ms(2 ^ 52 + base + 2 ^ 42)) == 0)
    if #drawn > 0 or over then settle(lines.passes, queue, queue.served, drawn.loose, over, wanted) end
    more = #drawn == wanted or given > 0
  until #begun == n or not more or lines.put >= 500
  begun.more = more
  return begun
end

-- waits_of is in how many us each of some fetched jobs may begin by the rate of its key, false where all may now.
local function waits_of(lines, ids)
  if not next(lines.waits) then return false end
  local waits = {}
  for i, id in ipairs(ids) do waits[i] = lines.waits[id] or 0 end
  return waits
end

-- left_of is how many jobs of a queue may be drawn, whose list is empty; false where there is none, but keys of it that
-- wait for their rate. Then it is noted when the first may begin, and there is a token for another worker, if the
-- caller may be full.
local function left_of(lines, queue, later, tokens)
  local left = queue.state == 'empty' and 0 or lined(lines.turns, lines.turning, queue.name)
  local wait = left == 0 and lines.ruled and awaited(lines, queue.line)
  if not wait then return left end
  later[#later + 1], later[#later + 2] = queue.name, wait
  redis.call('ZREM', lines.waking, '') -- which a full Redis executes, so that the next write goes through
  if tokens then wake(tokens, 1) end
  return false
end

-- first_in_line has those of some jobs of a queue come next that have a place of their key, behind others that came so,
-- and returns the other ones: {id, key, weight, ...}.
local function first_in_line(lines, name, jobs)
  local base, members, scores, others = line(lines.turning, name), {}, {}, {}
  if not base then return jobs end
  for i = 1, #jobs, 3 do members[#members + 1] = spot(base, jobs[i + 1]) .. jobs[i] end
  local held, first = redis.call('ZMSCORE', lines.holding, unpack(members)), nil
  local function next_pass()
    if not first then
      first = tonumber(redis.call('ZSCORE', lines.passes, name .. '\0') or base + 2 ^ 30) - 2 ^ 19
      local last = redis.call('ZRANGE', lines.turns, ms(first + 2 ^ 16), ms(first), 'BYSCORE', 'REV', 'LIMIT', 0, 1,
        'WITHSCORES')[2]
      first = last and tonumber(last) + 1 or first
    end
    return ms(first + #scores / 2)
  end
  for i = 1, #jobs, 3 do
    local n, m = #scores, #others
    if held[(i + 2) / 3] then
      scores[n + 1], scores[n + 2] = next_pass(), jobs[i]
    else
      others[m + 1], others[m + 2], others[m + 3] = jobs[i], jobs[i + 1], jobs[i + 2]
    end
  end
  if #scores > 0 then redis.call('ZADD', lines.turns, unpack(scores)) end
  return others
end

-- put_later puts the jobs that are due later on their shelf, and tells whoever moves them if one of them is the next.
local function put_later(keys, later, ascend, stamp)
  local scheduled, names, queues, control = unpack(keys)
  local next, known = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')[2], {}
  local scores, owners, low = lineup(scheduled, later, ascend)
  for g, group in ipairs(later) do known[2 * g - 1], known[2 * g] = stamp, ARGV[4 + group.queue] end
  redis.call('ZADD', scheduled, unpack(scores))
  redis.call('HSET', names, unpack(owners))
  local new = redis.call('ZADD', queues, 'NX', unpack(known)) > 0
  for g = 2, new and #known or 0, 2 do
    if known[g]:find('\31', 1, true) then tell(control, 'needs ' .. known[g]) end
  end
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
  if more == '+' then
    table.insert(to.listed, id .. '\0' .. digest .. '\0' .. ARGV[4 + group.queue]
      .. (group.keys and '\0' .. ARGV[group.keys] or ''))
  end
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

-- What follows is about flows: jobs that belong together. A member is known by its name, and its id is that of the
-- flow, a slash and the name. Until it may run it stands with the flow alone, in records. What is to be done about
-- members stands in todo, and whoever has the keys of their queues does it: "r<name>" is a member that may run, as is
-- "s<id>\n<queue>\n<record>", of a batch, which stands in no records; "e<how>\n<name>\n" one that has ended, whose
-- edges are to be looked at, behind the last one that was.
--
-- A member may be a flow itself, whose id is that of the member. It has no queue and no record, so that it stands in
-- records as a line feed alone. No script has the keys of both: what one is to learn of the other is noted by putting
-- the inner flow into busy, and flow/turn has them agree.
--
-- A member that is at home in another partition stands here as a flow does, and what members has of it is a byte 29,
-- the number of that partition, a byte 30 and its queue. There it is a flow of one job, "@job", which knows by "home"
-- in which partition the flow is that it is in. What one is to learn of the other is noted by putting its id into busy,
-- in either partition, and flow/order and flow/agree have them agree.

-- Members that have a lock, a time or a key of their own are special. The text of one, with the flow, begins with \30,
-- so that no script knows its queue but flow/advance, which is given the keys of all that; and between the line of its
-- queue and its record there is one of its terms: ms when it is due (0: at once), kind of its lock ("-": none), for how
-- many ms it has that (0: no end), its digest ("-"), weight and key (0 and nothing).
--
-- While such a member waits nobody but its flow knows of it. Its lock is of kind "t" then, which counts whether there
-- is such a job or not, and has no end. It becomes one of its own kind when the member goes into its queue.

-- flow_reserve notes the lock that a member of that text is to have, and returns who has it, if somebody else does.
-- taken are those that were noted.
local function flow_reserve(jobs, unique, foreign, taken, id, text, time)
  local kind, life, digest = text:match('^\30[^\n]*\n%S+ (%S+) (%d+) (%S+)')
  if not kind or kind == '-' then return end
  local held = taken[digest] or redis.call('HGET', unique, digest) or ''
  local owner, ends, of = held:match('^(.*) (%d+) (%a)$')
  local stands = owner and (ends == '0' or tonumber(ends) > time) and (of == 't' or alive(jobs, foreign, owner))
  if stands and owner ~= id then return owner end
  if stands and kind == 't' then return end -- this is sent again: its time goes on
  taken[digest] = id .. ' ' .. (kind == 't' and ms(time + life) or '0') .. ' t'
end

-- flow_unlock frees the lock of a member that is not to run, by its text. Where that has not the key of locks it is
-- left to be done.
local function flow_unlock(f, work, name, text)
  local digest = text:byte(1) == 30 and text:match('^[^\n]*\n%S+ %S+ %S+ (%S+)')
  if digest and digest ~= '-' then work[#work + 1] = 'u' .. digest .. '\n' .. name end
end

-- flow_of are the 17 keys of a flow, by name; behind that one of KEYS are those of queues of these names.
local function flow_of(keys, behind, names)
  local f = { at = {}, put = {}, away = {}, missing = {}, leaf = {} }
  f.flow, f.records, f.members, f.left, f.ends, f.edges, f.unmet, f.todo, f.results, f.busy, f.over, f.queues, f.ready,
    f.limits, f.jobs, f.done, f.control = unpack(keys)
  for i, name in ipairs(names) do f.at[name] = behind - 3 + 4 * i end
  return f
end

-- flow_broken is the error of a key of the flow's own that has another type. It notes what it learns thereby, so that
-- nothing is asked twice: what is known of the flow, how many members are left (open), have ended otherwise than done
-- (lost: so many at the most, and none where it is 0), and wait for how many others (waits), how much is to be done
-- (pending), and whether there are edges, and more than there were at the seal (grown). Whoever changes left and ends
-- keeps open and lost.
local function flow_broken(f)
  local known = redis.pcall('HMGET', f.flow, 'id', 'state', 'cancel', 'paused', 'generation', 'edges', 'home')
  local no_edges, edges = bad('ZCARD', f.edges)
  local no_todo, pending = bad('LLEN', f.todo)
  local no_left, open = bad('SCARD', f.left)
  local no_ends, lost = bad('ZCARD', f.ends)
  local no_unmet, waits = nil, 0
  if edges ~= 0 then no_unmet, waits = bad('ZCARD', f.unmet) end
  f.known, f.edged, f.pending, f.open, f.lost, f.waits = known, edges ~= 0, pending, open, lost, waits
  f.grown = tonumber(known[6] or -1) ~= edges
  return known.err and (bad('HLEN', f.flow) or known) or no_edges or no_todo or no_left or no_ends or no_unmet
    or bad('HLEN', f.records) or f.gives and bad('HLEN', f.results)
end

-- flow_denied is the refusal of a user who may not use all the commands with which a flow goes on behind the first
-- write. Those of flow_broken are known to be allowed. Fewer are asked for where a flow only counts ends, and where all
-- have ended well and members wait for them.
local function flow_denied(counts, well)
  if counts then
    -- ASK SREM
  elseif well then
    -- ASK HGET HSET LPUSH RPUSH SADD SMISMEMBER SREM TIME ZADD ZLEXCOUNT ZMSCORE ZRANGEBYLEX ZREM
  else
    -- ASK HGET HSET LPUSH RPOP RPUSH SADD SMISMEMBER SREM TIME ZADD ZLEXCOUNT ZMSCORE ZRANGEBYLEX ZREM ZSCORE
  end
end

-- flow_bad is flow_broken, also for what flows share. Of a queue only its own jobs wait.
local function flow_bad(f)
  local no_busy, hurried = bad('ZCARD', f.busy)
  f.gives, f.hurried = true, hurried
  return flow_broken(f) or bad('HLEN', f.members) or bad('ZCARD', f.unmet) or no_busy
    or bad('ZCARD', f.over) or bad('ZCARD', f.queues) or bad('SCARD', f.ready) or bad('HLEN', f.limits)
    or bad('HLEN', f.jobs) or flow_denied()
end

-- flow_read takes what is known of the flow, and returns its state: nil where there is none.
local function flow_read(f)
  f.id, f.state, f.cancel, f.paused, f.generation = unpack(f.known, 1, 5)
  if f.state == 'removing' then f.state = nil end
  return f.state
end

-- flow_place is the place in KEYS of a queue in which jobs can be put; else it is noted as missing.
local function flow_place(f, queue)
  local at = f.at[queue]
  if at and type(redis.pcall('LLEN', KEYS[at])) == 'number' then return at end
  if not f.missing[queue] then
    f.missing[queue] = true
    table.insert(f.missing, queue)
  end
end

-- flow_put is where it is noted what is to be put into a queue: see flow_push. It is nil where the keys of that are not
-- here.
local function flow_put(f, queue)
  local put = f.put[queue]
  if put then return put end
  local at = flow_place(f, queue)
  if not at then return end
  put = { at = at, ids = {}, stored = {} }
  f.put[queue] = put
  return put
end

-- flow_free notes that a member is to be put into its queue, or cancels it. It returns "there" where that is done, or
-- was before, "cancelled", or nil where it can do neither. Of a special one the record comes with the terms before it.
local function flow_free(f, work, name, id, queue, record, living)
  local special = queue:byte(1) == 30
  if f.cancel or living and living ~= (special and record:match('\n(.*)$') or record) then
    f.open, f.lost = f.open - redis.call('SREM', f.left, name), f.lost + 1
    redis.call('ZADD', f.ends, 2, name)
    redis.call('HSET', f.records, name, queue .. '\n' .. record)
    work[#work + 1] = 'ecancelled\n' .. name .. '\n'
    if special then flow_unlock(f, work, name, queue .. '\n' .. record) end
    return 'cancelled'
  elseif living then
    return 'there'
  elseif special then
    return flow_place(f, queue) and f.enter(id, queue:sub(2), record) or nil
  end
  local put = flow_put(f, queue)
  if not put then return end
  local stored, n = put.stored, #put.ids + 1
  put.ids[n], stored[2 * n - 1], stored[2 * n] = id, id, record
  return 'there'
end

-- flow_call is flow_free of a flow: whoever goes on with that finds that its turn has come, or that it is cancelled
-- instead, as the other one is.
local function flow_call(f, name)
  redis.call('ZADD', f.busy, 'NX', ms(now()), f.id .. '/' .. name)
  f.called = true
  return 'there'
end

-- flow_release notes that members are to be put into their queues. One that does not wait any more is left alone, and
-- one whose id somebody else uses is cancelled: nobody would tell its end. One that stands in todo twice, since
-- flow/reopen was repeated, is put into its queue once. One that is a flow is called. What it cannot do, as the keys of
-- a queue are not here, goes to rest.
local function flow_release(f, work, names, rest)
  if #names == 0 then return end
  local ids = {}
  for i, name in ipairs(names) do ids[i] = f.id .. '/' .. name end
  -- one whose record is here may have ended: otherwise than done, or after a failover that has forgotten its beginning
  local kept, left = redis.call('HMGET', f.records, unpack(names)), redis.call('SMISMEMBER', f.left, unpack(names))
  local living, away = redis.call('HMGET', f.jobs, unpack(ids)), f.away[f.records] or {}
  f.away[f.records], f.freed = away, f.freed or {}
  for i, name in ipairs(names) do
    if kept[i] and left[i] == 1 and not f.freed[name] then
      local cut = kept[i]:find('\n', 1, true)
      local came = cut == 1 and flow_call(f, name)
        or flow_free(f, work, name, ids[i], kept[i]:sub(1, cut - 1), kept[i]:sub(cut + 1), living[i])
      if came == 'there' then away[#away + 1], f.freed[name] = name, true end
      if not came then rest[#rest + 1] = 'r' .. name end
    end
  end
end

-- flow_unpack is flow_release of those of a batch, whose records stand in work alone: each is there once, and waits.
local function flow_unpack(f, work, items, rest)
  if #items == 0 then return end
  local ids, cuts, find, part = {}, {}, string.find, string.sub
  for i = 1, #items do
    local cut = find(items[i], '\n', 2, true)
    ids[i], cuts[i] = part(items[i], 2, cut - 1), cut
  end
  local living = redis.call('HMGET', f.jobs, unpack(ids))
  local of, put, n -- queue of the last one, where it went, and how many went there
  for i = 1, #items do
    local item, id = items[i], ids[i]
    local cut = find(item, '\n', cuts[i] + 1, true)
    local queue, record = part(item, cuts[i] + 1, cut - 1), part(item, cut + 1)
    if queue ~= of then
      of, put = queue, f.put[queue]
      n = put and #put.ids
    end
    if put and not living[i] and not f.cancel then
      n = n + 1
      put.ids[n], put.stored[2 * n - 1], put.stored[2 * n] = id, id, record
    else
      of = nil
      local came = flow_free(f, work, part(id, #f.id + 2), id, queue, record, living[i])
      if not came then rest[#rest + 1] = item end
    end
  end
end

-- flow_push puts into their queues what was noted. Places are written first, and what the flow has goes last.
local function flow_push(f)
  for queue, put in pairs(f.put) do
    local at = put.at
    if redis.call('LPUSH', KEYS[at], unpack(put.ids)) == #put.ids then
      if redis.call('ZADD', f.queues, 'NX', ms(now()), queue) == 1 and queue:find('\31', 1, true) then
        tell(f.control, 'needs ' .. queue)
      end
      redis.call('SADD', f.ready, queue)
      summon(f.limits, queue, KEYS[at + 1], KEYS[at + 2], KEYS[at + 3], 1)
    end
    redis.call('HSET', f.jobs, unpack(put.stored))
  end
  for records, names in pairs(f.away) do
    if #names > 0 then redis.call('HDEL', records, unpack(names)) end
  end
end

-- flow_drop cancels a member that waits.
local function flow_drop(f, work, name)
  local kept = redis.call('HGET', f.records, name) or '' -- no HSTRLEN: see weight
  if kept == '' or redis.call('SREM', f.left, name) == 0 then return end
  f.open, f.lost = f.open - 1, f.lost + 1
  redis.call('ZADD', f.ends, 2, name)
  work[#work + 1] = 'ecancelled\n' .. name .. '\n'
  if #kept > 1 then return flow_unlock(f, work, name, kept) end
  redis.call('ZADD', f.busy, 'NX', ms(now()), f.id .. '/' .. name)
  f.called = true
end

-- flow_visit looks at the edges of a member that has ended, at so many at the most, and returns how many that were. It
-- does nothing about one that was dead, and has ended otherwise since it was retried by hand. By the rule of an edge
-- who waits may run even if the other has not ended well ("even"), waits until that is retried where it is dead
-- ("hold"), or is cancelled. Edges that are met are noted: see flow_meet.
local function flow_visit(f, work, item, most, met)
  local how, from, behind = item:match('^e(%a+)\n([^\n]*)\n(.*)$')
  if how == 'dead' and redis.call('ZSCORE', f.ends, from) ~= '1' then return 0 end -- what it is now is to be done too
  local first = behind == '' and '[' .. from .. '\n' or '(' .. from .. '\n' .. behind
  local edges = redis.call('ZRANGEBYLEX', f.edges, first, '(' .. from .. '\11', 'LIMIT', 0, most)
  for _, edge in ipairs(edges) do
    local to, rule = edge:match('^[^\n]*\n([^\n]*)\n(%a+)$')
    behind = to .. '\n' .. rule
    if how == 'done' or rule == 'even' and not f.cancel then
      local waits = met[to] or {}
      if #waits == 0 then met[to], met[#met + 1] = waits, to end
      waits[#waits + 1] = to .. '\n' .. from
    elseif rule ~= 'hold' or how ~= 'dead' or f.cancel then
      flow_drop(f, work, to)
    end
  end
  if #edges == most then work[#work + 1] = 'e' .. how .. '\n' .. from .. '\n' .. behind end
  return #edges
end

-- flow_meet has those run that wait for nobody any more, by edges that are met now.
local function flow_meet(f, work, met)
  local all, there, at = {}, nil, 0
  for _, to in ipairs(met) do
    for _, edge in ipairs(met[to]) do all[#all + 1] = edge end
  end
  if #all == 0 then return end
  if #met > 1 then there = redis.call('ZMSCORE', f.unmet, unpack(all)) end
  f.waits = f.waits - redis.call('ZREM', f.unmet, unpack(all))
  for _, to in ipairs(met) do
    local now = not there
    for i = at + 1, at + #met[to] do now = now or there[i] end
    at = at + #met[to]
    if now
      and (f.waits == 0 or redis.call('ZLEXCOUNT', f.unmet, '[' .. to .. '\n', '(' .. to .. '\11') == 0) then
      work[#work + 1] = 'r' .. to
    end
  end
end

-- flow_finish ends a flow of which no member is left, and notes the job for its queue that is to run then. It returns
-- false where something is left to be done: the keys of that queue are not here, or another flow, in which it is, is to
-- be told. Who called is told, by f.told: how it has ended, its generation, how many members it has, for how many ms it
-- ran, and its id.
local function flow_finish(f)
  local how = f.cancel and 'cancelled' or (f.lost == 0 or redis.call('ZCARD', f.ends) == 0) and 'done' or 'dead'
  local last = '@' .. how
  local kept = redis.call('HGET', f.records, last)
  if kept then
    local cut = kept:find('\n', 1, true)
    local queue, id = kept:sub(1, cut - 1), f.id .. '/' .. last .. (f.generation == '1' and '' or '#' .. f.generation)
    local record = kept:sub(cut + 1)
    if redis.call('HGET', f.jobs, id) ~= record then -- else it runs: a failover has forgotten that the flow had ended
      local put = flow_put(f, queue)
      if not put then return false end
      put.ids[#put.ids + 1], put.stored[#put.stored + 1], put.stored[#put.stored + 2] = id, id, record
    end
  end
  local time, keep, total, sealed = now(), unpack(redis.call('HMGET', f.flow, 'keep', 'total', 'sealed'))
  redis.call('HSET', f.flow, 'state', how, 'ended', ms(time))
  f.state = how
  if not f.known[7] then
    f.told = table.concat({ how, f.generation, total or 0, ms(math.max(0, time - (sealed or time))), f.id }, ' ')
  end
  tell(f.done, f.id .. '/')
  if f.id:find('/', 1, true) then return false end
  redis.call('ZADD', f.over, ms(time + keep), f.id)
  return true
end

-- flow_work does what stands in work, with so many members and edges at the most. It returns how many those were, and
-- what is left, the first at the end. Locks are freed where their key is known.
local function flow_work(f, work, most)
  local i, used, rest, back, byte = 0, 0, {}, {}, string.byte
  repeat
    local names, met, items = {}, {}, {}
    while i < #work and used < most do
      i, used = i + 1, used + 1
      local item = work[i]
      local kind = byte(item)
      if kind == 101 then -- e
        used = used + flow_visit(f, work, item, most - used + 1, met)
      elseif kind == 115 then -- s
        items[#items + 1] = item
      elseif item:sub(1, 1) == 'r' then
        names[#names + 1] = item:sub(2)
      elseif f.unlock then
        f.unlock(item)
      else
        rest[#rest + 1] = item
        flow_place(f, '\30')
      end
    end
    flow_meet(f, work, met)
    flow_release(f, work, names, rest)
    flow_unpack(f, work, items, rest)
  until i == #work or used >= most
  for j = i + 1, #work do rest[#rest + 1] = work[j] end
  for j = #rest, 1, -1 do back[#back + 1] = rest[j] end
  return used, back
end

-- flow_advance does what is to be done about a flow, and what comes with fresh, with so many members and edges at the
-- most, and ends the flow when that is all. What goes into queues is noted: see flow_push. While something is left the
-- flow is in busy, for whoever goes on. It returns whether something is, also where that is about a flow in it, and how
-- many it has worked on.
local function flow_advance(f, most, fresh)
  local runs, left, used = f.state == 'running' and (not f.paused or f.cancel), false, 0
  local work = runs and f.pending > 0 and most > 0 and redis.call('RPOP', f.todo, most) or {}
  local pending = f.pending - #work
  for i = 1, #fresh do work[#work + 1] = fresh[i] end
  if runs and #work > 0 then
    used, work = flow_work(f, work, most)
  elseif #work > 1 then
    for i = 1, math.floor(#work / 2) do work[i], work[#work + 1 - i] = work[#work + 1 - i], work[i] end
  end
  for i = 1, #work, 500 do redis.call('RPUSH', f.todo, unpack(work, i, math.min(i + 499, #work))) end
  f.pending = pending + #work
  if f.state ~= 'running' then return f.called, used end
  if f.pending > 0 then
    left = runs
  elseif runs and f.open == 0 then
    left = not flow_finish(f)
  end
  left = left or f.state == 'running' and f.cancel == '1' -- not all members were told: flow/cancel
  if left then
    redis.call('ZADD', f.busy, 'NX', ms(now()), f.id)
  elseif f.hurried > 0 then
    redis.call('ZREM', f.busy, f.id)
  end
  return left or f.called, used
end

-- flow_step is flow_advance of one flow, as far as one script goes. Who goes on is told, if something is left.
local function flow_step(f, fresh)
  local left = flow_advance(f, 500, fresh)
  flow_push(f)
  if left then tell(f.control, 'flows') end
end

-- flow_end counts the ends of members, each once: it must be one that is left, or dead. One that was dead may be done
-- when it was retried by hand, or cancelled or deleted, so that nobody need hold on for it any longer. Where its flow
-- has ended by then, that stays as it is, and a retry of the flow finds it done. hows has, by its name, how a member
-- has ended that is not done, and records its record, as its queue and itself, which stays with the flow; results what
-- others may ask for. Nobody waited at the seal for those that are in f.leaf. It returns what is to be done about them.
local function flow_end(f, names, hows, results, records)
  local fresh, gone, got, ends, kept = {}, {}, {}, {}, {}
  if #names == 0 or not flow_read(f) then return fresh end
  local scores = { dead = 1, cancelled = 2, discarded = 3, expired = 4, deleted = 5 }
  -- all are done for the first time, as ends tell; or one is not left, and nothing is to be done about it
  local sure = f.lost == 0 and (#names == 1 or not next(hows) and not next(results))
  local n = sure and redis.call('SREM', f.left, unpack(names))
  if n == 0 then return fresh end
  if sure then f.open = f.open - n end
  if sure and not f.edged and not next(hows) and not next(results) then return fresh end
  local known = not sure and redis.call('SMISMEMBER', f.left, unpack(names))
  for i, name in ipairs(names) do
    local mine, how = sure and 2 or known[i], hows[name]
    if mine > 0 or how ~= 'dead' and redis.call('ZSCORE', f.ends, name) == '1' then
      if mine == 1 then gone[#gone + 1] = name elseif mine == 0 then redis.call('ZREM', f.ends, name) end
      if how then ends[#ends + 1], ends[#ends + 2] = scores[how], name end
      if results[name] then got[#got + 1], got[#got + 2] = name, results[name] end
      if records[name] then kept[#kept + 1], kept[#kept + 2] = name, records[name] end
      if f.edged and (f.grown or not f.leaf[name]) then
        fresh[#fresh + 1] = 'e' .. (how or 'done') .. '\n' .. name .. '\n'
      end
    end
  end
  if #gone > 0 then f.open = f.open - redis.call('SREM', f.left, unpack(gone)) end
  if #ends > 0 then
    f.lost = f.lost + #ends / 2
    redis.call('ZADD', f.ends, unpack(ends))
  end
  if #got > 0 then redis.call('HSET', f.results, unpack(got)) end
  if #kept > 0 then redis.call('HSET', f.records, unpack(kept)) end
  if f.known[7] and f.state == 'dead' and known then
    -- it was dead, and its flow is to know how it has ended since
    if redis.call('ZCARD', f.ends) == 0 then redis.call('HSET', f.flow, 'state', 'done') end
    redis.call('ZADD', f.busy, 'NX', ms(now()), f.id)
    f.called = true
  end
  return fresh
end

-- flows_at are the flows of a call that ends members of several: at that one of KEYS are queues, ready, control, busy,
-- over, the 9 keys of each flow, and those of queues; at that one of ARGV how many flows and queues there are, the
-- names of these, and of each flow how many of its members follow, and they. It notes what is broken.
local function flows_at(key, at, jobs, limits, done)
  local queues, ready, control, busy, over = unpack(KEYS, key, key + 4)
  local flows, count, named = { control = control, prefix = queues:sub(1, -7) .. 'flow:' }, tonumber(ARGV[at]),
    tonumber(ARGV[at + 1])
  local no_busy, hurried = bad('ZCARD', busy)
  flows.bad = bad('ZCARD', queues) or bad('SCARD', ready) or no_busy or bad('ZCARD', over)
  local places, put, away, missing, counts, well = {}, {}, {}, {}, true, true
  for i = 1, named do places[ARGV[at + 1 + i]] = key + 1 + 9 * count + 4 * i end
  at, key = at + 2 + named, key + 5
  for n = 1, count do
    local f = { at = places, put = put, away = away, missing = missing, queues = queues, ready = ready, busy = busy,
      control = control, over = over, jobs = jobs, limits = limits, done = done, first = at + 1, last = at + ARGV[at],
      hurried = hurried, leaf = {} }
    local ends, leaves = 0, true
    for i = f.first, f.last do
      local leaf, from, to, rest = ARGV[i]:match('^(l?)(%d+)%-?(%d*)(.?)')
      ends, leaves = ends + 1 + (to ~= '' and to - from or 0), leaves and leaf ~= ''
      f.gives, well = f.gives or rest == '=', well and rest == ''
    end
    f.flow, f.records, f.members, f.left, f.ends, f.edges, f.unmet, f.todo, f.results = unpack(KEYS, key, key + 8)
    flows[n], flows.bad = f, flows.bad or flow_broken(f)
    if flows.bad then return flows end
    well = well and f.pending == 0 and f.lost == 0 and not f.known[3] and f.open > ends
    counts = counts and hurried == 0 and (not f.edged or leaves and not f.grown)
    at, key = f.last + 1, key + 9
  end
  flows.bad = flow_denied(counts and well, well)
  return flows
end

-- flows_end counts the ends of members of several flows: of those that went, by which of ids they are. What says so is
-- a number; or the first and the last of several, with "-" between; or a number, "=" and the result; or a number, a
-- blank, how it ended otherwise, another blank and its queue. "l" before it says that nobody waited for them at the
-- seal. Flows that have ended then go behind the answer.
local function flows_end(flows, ids, went, answer)
  local most, told, sub = 500, false, string.sub
  for _, f in ipairs(flows) do
    local names, hows, results, records, cut = {}, {}, {}, {}, #f.flow - #flows.prefix + 2
    for i = f.first, f.last do
      local leaf, nth, kind, rest = ARGV[i]:match('^(l?)(%d+)(.?)(.*)$')
      nth = tonumber(nth)
      for n = nth, kind == '-' and tonumber(rest) or nth do
        if went[n] then
          local name = sub(ids[n], cut)
          names[#names + 1] = name
          if f.edged then f.leaf[name] = leaf ~= '' end
        end
      end
      local name = names[#names]
      if kind == '=' and went[nth] then
        results[name] = rest
      elseif kind == ' ' and went[nth] then
        local how, queue = rest:match('^(%a+) (.*)$')
        hows[name], records[name] = how, queue .. '\n' .. (redis.call('HGET', f.jobs, ids[nth]) or '')
      end
    end
    local fresh = flow_end(f, names, hows, results, records)
    if f.state then
      local left, used = flow_advance(f, most, fresh)
      most, told = math.max(most - used, 0), told or left
    end
  end
  flow_push(flows[1])
  for _, f in ipairs(flows) do answer[#answer + 1] = f.told end
  if told then tell(flows.control, 'flows') end
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
  local framed = known:sub(1, 1) == '\0'
  local present = redis.pcall(framed and 'HLEN' or 'GET', config)
  if type(present) == 'table' and present.err and not present.err:find('WRONGTYPE', 1, true) then return present end
  if not framed then
    if (present or '') ~= known then return stale end
    return
  end
  local fields = unframed(known)
  if present ~= #fields / 2 then return stale end
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
