-- worker/declare_dead: decides which of some workers are dead and takes those out of workers: from then on no fetch of
-- them is answered, and whoever likes puts their jobs back. Those with a heartbeat are expected to beat again before
-- that lapses.
--
-- A reaper that was itself away (its heartbeat lapsed or began less than a few seconds ago) is no judge: Redis was
-- away, and everybody's key is gone. It must have been there for as long as a heartbeat of the target lasts. A
-- heartbeat that would last longer than that was sent before Redis' clock was set back: it gets the time that it should
-- have. Where a target did not tell how long its heartbeats last, they may last for as long as any.
--
-- KEYS[1] worker:<reaper>, KEYS[2] workers, KEYS[3] dead, KEYS[4] deadlines, KEYS[5] deaths
-- KEYS[6..] worker:<target>, worker:<target>:info of each target
-- ARGV[1] ms that a heartbeat lasts of a worker that did not tell
-- ARGV[2] ms that a heartbeat may last at the most
-- ARGV[3..] targets, at most 500
-- RETURNS those that are dead, now or before; none where the reaper is no judge
-- FIRST WRITE ZREM
local reaper, workers, dead, deadlines, deaths = unpack(KEYS, 1, 5)

local time, since = now(), redis.call('GET', reaper)
since = since and since:match('^RUN (%d+)$')
if not since then return {} end
local refusal = bad('SCARD', workers) or bad('SCARD', dead)
if refusal then return refusal end

-- mourn notes about when a worker died: before the next heartbeat that it would have sent. The last hour is kept.
local function mourn(target, deadline, life)
  if bad('ZCARD', deaths) then return end
  local died = (type(deadline) == 'string' and tonumber(deadline) or time - 1500) - life + math.min(1000, life / 3) / 2
  redis.call('ZADD', deaths, ms(math.min(died, time)), target)
  redis.call('ZREMRANGEBYSCORE', deaths, '-inf', ms(time - 3700000))
  redis.call('ZREMRANGEBYRANK', deaths, 0, -1001)
end

-- ASK PEXPIRE PTTL SADD SISMEMBER SREM UNLINK ZADD ZCARD ZREMRANGEBYRANK ZREMRANGEBYSCORE
local gone = {}
for i = 3, #ARGV do
  local target, heart, told = ARGV[i], KEYS[2 * i], unless_refused(redis.pcall('HGET', KEYS[1 + 2 * i], 'life'))
  told = type(told) == 'string' and tonumber(told)
  local life, most = told or tonumber(ARGV[1]), told or tonumber(ARGV[2])
  if time - tonumber(since) >= life then
    local left, deadline = redis.call('PTTL', heart), redis.pcall('ZSCORE', deadlines, target)
    redis.pcall('ZREM', deadlines, target)
    if redis.call('SISMEMBER', dead, target) == 1 then
      gone[#gone + 1] = target
    elseif redis.call('SISMEMBER', workers, target) == 1 and left == -2 then
      redis.call('SREM', workers, target)
      redis.call('SADD', dead, target)
      mourn(target, deadline, life)
      gone[#gone + 1] = target
    elseif redis.call('SISMEMBER', workers, target) == 1 then
      if life > 0 and left > most then
        redis.call('PEXPIRE', heart, ms(life))
        left = life
      end
      expect(deadlines, target, time + math.max(left, 0))
    end
  end
end
return gone
