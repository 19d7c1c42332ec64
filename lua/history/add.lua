-- history/add: adds what a worker has counted since it last told to the sums of this minute and of this day, and to the
-- groups of errors.
--
-- A call sent twice answers what it answered the first time and adds nothing again; what a lane sends comes in order,
-- so that an older one is late and is refused. The caller guesses which minute it is, since it names the keys. Where it
-- is another one by Redis' clock nothing is added and the number is not used up: it guesses again.
--
-- Sums are "<letter>:<n> ..." under the name of the job; what has not been counted is not there. A group is "<count>
-- <ms of the last> <ms of the first>", id of the last job, name and message, with NUL between them. How often it came
-- in this hour is kept beside that, of as many groups at the most.
--
-- A minute and a day have so many names at the most. What is counted of others goes to one that stands for all of them,
-- so that the sums over all names are always right.
--
-- KEYS[1] lanes, KEYS[2] stats:<minute>, KEYS[3] stats:<day>, KEYS[4] errors, KEYS[5] stats:errors:<hour>
-- ARGV[1] lane
-- ARGV[2] number of the call
-- ARGV[3] ms at which that minute begins
-- ARGV[4] ms for which minutes are kept
-- ARGV[5] ms at which that day begins
-- ARGV[6] ms for which days are kept
-- ARGV[7] how many groups there may be
-- ARGV[8] how many names a minute may have
-- ARGV[9] how many names a day may have
-- ARGV[10] the name that stands for all others
-- ARGV[11] how many names follow
-- ARGV[12..] name and sums of each; then of each group digest, count, 1 if it is to be stored however many there are,
--   and its id, name and message
-- RETURNS ms, then "elsewhere", or the number (1 is the first) of each group that was not stored: there are too many
-- FIRST WRITE PEXPIRE (of a key that may not be there yet)
local lanes, minute, day, errors, hour = unpack(KEYS)
local lane, number, begin, kept, dawn, keptdays, most, mostminute, mostday, others, names = unpack(ARGV, 1, 11)

local noerrors, groups = bad('HLEN', errors)
local nominute, inminute = bad('HLEN', minute)
local noday, inday = bad('HLEN', day)
local nohour, inhour = bad('HLEN', hour)
local refusal = bad('HLEN', lanes) or nominute or noday or noerrors or nohour
if refusal then return refusal end
local n, reply = (redis.call('HGET', lanes, lane) or ''):match('^(%d+) (.*)$')
if n == number then return reply end
if n and tonumber(n) > tonumber(number) then return redis.error_reply('STALE lane ' .. lane .. ' is at call ' .. n) end
local time = now()
if time < tonumber(begin) or time >= begin + 60000 or time < tonumber(dawn) or time >= dawn + 86400000 then
  return ms(time) .. ' elsewhere'
end

-- parsed are the sums of a text, and the letters in their order.
local function parsed(text)
  local sums, order = {}, {}
  for letter, count in text:gmatch('(%a%d*):(%d+)') do
    sums[letter], order[#order + 1] = count, letter
  end
  return { sums, order }
end

-- add adds sums to those that a hash has of a name, and returns how many names it has then. What is not added to is
-- left as it stands: most buckets, most of the time.
local function add(hash, length, limit, name, text)
  local before = redis.call('HGET', hash, name)
  if not before and length >= tonumber(limit) then
    name = others
    before = redis.call('HGET', hash, name)
  end
  if not before then
    redis.call('HSET', hash, name, text)
    return length + 1
  end
  local sums, order = unpack(parsed(text))
  local had = {}
  local stored = before:gsub('(%a%d*):(%d+)', function(letter, count)
    if had[letter] or not sums[letter] then return end
    had[letter] = true
    return letter .. ':' .. ms(count + sums[letter])
  end)
  for _, letter in ipairs(order) do
    if not had[letter] then stored = stored .. (stored == '' and '' or ' ') .. letter .. ':' .. sums[letter] end
  end
  redis.call('HSET', hash, name, stored)
  return length
end

redis.call('PEXPIRE', minute, kept)
local from = 12 + 2 * tonumber(names)
for i = 12, from - 1, 2 do
  inminute = add(minute, inminute, mostminute, ARGV[i], ARGV[i + 1])
  inday = add(day, inday, mostday, ARGV[i], ARGV[i + 1])
end
redis.call('PEXPIRE', minute, kept)
redis.call('PEXPIRE', day, keptdays)

reply = { ms(time) }
for i = from, #ARGV, 6 do
  local digest, count, must, rest = ARGV[i], ARGV[i + 1], ARGV[i + 2],
    table.concat({ '', unpack(ARGV, i + 3, i + 5) }, '\0')
  local group = redis.call('HGET', errors, digest)
  if group or must == '1' or groups < tonumber(most) then
    local before, _, first = (group or ''):match('^(%d+) (%d+) (%d+)')
    redis.call('HSET', errors, digest, ms(count + (before or 0)) .. ' ' .. ms(time) .. ' ' .. (first or ms(time))
      .. rest)
    if not group then groups = groups + 1 end
    local had = redis.call('HGET', hour, digest)
    if had or inhour < tonumber(most) then
      redis.call('HSET', hour, digest, ms(count + (tonumber(had or 0) or 0)))
      if not had then inhour = inhour + 1 end
    end
  else
    reply[#reply + 1] = ms((i - from) / 6 + 1)
  end
end
redis.call('PEXPIRE', hour, kept)
reply = table.concat(reply, ' ')
redis.call('HSET', lanes, lane, number .. ' ' .. reply)
return reply
