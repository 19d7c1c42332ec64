package main

// scheduleScripts break what keeps schedules, and what a worker serves.
var scheduleScripts = []mutant{
	{
		Name: "tick-twice", File: "lua/schedule/tick.lua",
		Before: "if last ~= seen then return { last:match('^%d+') == tick and 'done' or 'moved', ms(time), last } end",
		Breaks: "a tick is taken once, however many workers send it",
		Tests:  unmodelled("TestATickThatIsNotTaken", "TestATickStoresItsJobsAndNotesTheLast"),
	},
	{
		Name: "tick-of-the-changed", File: "lua/schedule/tick.lua",
		Before: "if not definition or redis.sha1hex(definition) ~= digest then", After: "if not definition then",
		Breaks: "a tick of a schedule that was changed meanwhile is not taken",
		Tests:  unmodelled("TestATickThatIsNotTaken"),
	},
	{
		Name: "tick-to-come", File: "lua/schedule/tick.lua",
		Before: "if tonumber(tick) > time or judged > 0", After: "if judged > 0",
		Breaks: "no tick is ahead of the clock of Redis",
		Tests:  unmodelled("TestATickThatIsNotTaken"),
	},
	{
		Name: "tick-over-the-living", File: "lua/schedule/tick.lua",
		Before: "  if redis.call('HEXISTS', jobs, id) == 0 then", After: "  if true then",
		Breaks: "a job of a tick that lives already is left alone",
		Tests:  unmodelled("TestATickLeavesAJobAloneThatLives"),
	},
	{
		Name: "tick-overlap", File: "lua/schedule/tick.lua",
		Before: "if overlap == 'skip' and former ~= '' and redis.call('HEXISTS', jobs, former) == 1\n",
		After:  "if false\n",
		Breaks: "a schedule that skips does so while its last job lives",
		Tests:  unmodelled("TestATickSkipsWhileTheLastJobLives"),
	},
	{
		Name: "define-over-another", File: "lua/schedule/define.lua",
		Before: "if (present == '' and '' or redis.sha1hex(present)) ~= digest then return { 0, time } end",
		Breaks: "a definition that was changed meanwhile is not overwritten",
		Tests:  unmodelled("TestASchedulesDefinitionIsReplacedAsItWasRead"),
	},
	{
		Name: "define-ticks-stay", File: "lua/schedule/define.lua",
		Before: "  redis.call('HDEL', ticks, schedule)\n",
		Breaks: "what is kept of a schedule goes with it",
		Tests:  unmodelled("TestNothingIsLeftOfAScheduleThatIsRemoved"),
	},
	{
		Name: "define-anew", File: "lua/schedule/define.lua",
		Before: "if not last or anew == '1' then", After: "if not last then",
		Breaks: "the ticks of a schedule that goes on begin now",
		Tests:  unmodelled("TestASchedulesDefinitionIsReplacedAsItWasRead"),
	},
	{
		Name: "withdraw-declared", File: "lua/schedule/withdraw.lua",
		Before: "    return 'declared'\n", After: "",
		Breaks: "a schedule that a worker declares stays",
		Tests:  unmodelled("TestAScheduleIsWithdrawnOnlyWhenNobodyDeclaresIt"),
	},
	{
		Name: "withdraw-unseen-worker", File: "lua/schedule/withdraw.lua",
		Before: " or redis.call('SCARD', workers) ~= #ARGV - 2 then", After: " then",
		Breaks: "a worker that came meanwhile is asked too",
		Tests:  unmodelled("TestAScheduleIsWithdrawnOnlyWhenNobodyDeclaresIt"),
	},
	{
		Name: "withdraw-another-worker", File: "lua/schedule/withdraw.lua",
		Before: "if redis.call('SISMEMBER', workers, ARGV[i]) == 0 then return 'changed' end",
		Breaks: "the workers that are asked are those that there are",
		Tests:  unmodelled("TestAScheduleIsWithdrawnOnlyWhenNobodyDeclaresIt"),
	},
	{
		Name: "serve-holding", File: "lua/worker/serve.lua",
		Before: "elseif type(length) == 'number' and length > 0 then", After: "elseif false then",
		Breaks: "a queue of which a worker holds jobs stays with it, so that a reaper finds them",
		Tests:  unmodelled("TestAWorkerLeavesTheQueuesOfWhichItHoldsNothing"),
	},
	{
		Name: "register-name-unnoted", File: "lua/worker/register.lua",
		Before: "if not unnoted then redis.call('ZADD', served, time, ARGV[i]) end",
		Breaks: "an enqueuer may ask whether a name was ever served",
		Tests:  unmodelled("TestANameThatWasServedIsRemembered"),
	},
	{
		Name: "serve-name-unnoted", File: "lua/worker/serve.lua",
		Before: "if not unnoted then redis.call('ZADD', served, time, name) end",
		Breaks: "an enqueuer may ask whether a name was ever served",
		Tests:  unmodelled("TestANameThatWasServedIsRemembered"),
	},
	{
		Name: "agree-indexes-served-unnoted", File: "lua/repair/agree_indexes.lua",
		Before: "if #now_served > 0 then redis.call('ZADD', noted, unpack(now_served)) end",
		Breaks: "the name of a worker that lives long is not forgotten",
		Tests:  unmodelled("TestTheJanitorKeepsServedNamesFreshAndFew"),
	},
	{
		Name: "serve-late", File: "lua/worker/serve.lua",
		Before: "if tonumber(ARGV[2]) < before then return { 'stale', {} } end",
		Breaks: "a change of what is served that comes late undoes no newer one",
		Tests:  unmodelled("TestAChangeOfWhatIsServedKeepsItsPlaceAmongFetches"),
	},
	{
		Name: "serve-number-forgotten", File: "lua/worker/serve.lua",
		Before: "redis.call('HSET', info, 'n', ARGV[2])",
		Breaks: "no fetch that was sent before a change of what is served lands after it",
		Tests:  unmodelled("TestAChangeOfWhatIsServedKeepsItsPlaceAmongFetches"),
	},
	{
		Name: "remove-stale-used", File: "lua/repair/remove_stale.lua",
		Before: "if time < before and redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then",
		After:  "if time < before then",
		Breaks: "a lane that was used meanwhile is not forgotten",
		Tests:  scripts("TestRetireLanesRemovesThoseThatAreSilent"),
	},
	{
		Name: "remove-stale-young", File: "lua/repair/remove_stale.lua",
		Before: "if time < before and redis", After: "if redis",
		Breaks: "a lane is kept for as long as a call may be sent again",
		Tests:  scripts("TestRetireLanesRemovesThoseThatAreSilent"),
	},
	{
		Name: "tally-again", File: "lua/history/add.lua",
		Before: "if n == number then return reply end",
		Breaks: "what is counted counts once",
		Tests:  unmodelled("TestATallySentAgainAddsNothing"),
	},
	{
		Name: "tally-stale", File: "lua/history/add.lua",
		Before: "if n and tonumber(n) > tonumber(number) then return redis.error_reply('STALE lane ' .. lane .. ' is " +
			"at call ' .. n) end",
		Breaks: "counts that come late are refused",
		Tests:  unmodelled("TestATallySentAgainAddsNothing", "TestTheEdgesOfAMinuteAndOfADay"),
	},
	{
		Name: "tally-another-minute", File: "lua/history/add.lua",
		Before: "or time >= begin + 60000 or", After: "or",
		Breaks: "what is counted goes to the minute that it is",
		Tests:  unmodelled("TestATallyForAnotherMinuteIsNotAdded", "TestTheEdgesOfAMinuteAndOfADay"),
	},
	{
		Name: "tally-groups-without-end", File: "lua/history/add.lua",
		Before: "if group or must == '1' or groups < tonumber(most) then", After: "if true then",
		Breaks: "there are so many groups of errors and no more",
		Tests:  unmodelled("TestNewGroupsAreRefusedWhereThereAreTooMany"),
	},
	{
		Name: "tally-hour-without-end", File: "lua/history/add.lua",
		Before: "if had or inhour < tonumber(most) then", After: "if true then",
		Breaks: "an hour has so many groups of errors and no more",
		Tests:  unmodelled("TestAnHourHasSoManyGroups"),
	},
	{
		Name: "tally-hour-for-ever", File: "lua/history/add.lua",
		Before: "redis.call('PEXPIRE', hour, kept)",
		Breaks: "how often errors came in an hour goes after its time",
		Tests:  unmodelled("TestErrorsAreCountedByTheHour"),
	},
	{
		Name: "tally-for-ever", File: "lua/history/add.lua",
		Before: "redis.call('PEXPIRE', day, keptdays)",
		Breaks: "history goes after its time",
		Tests:  unmodelled("TestHistoryIsKeptForItsTime"),
	},
}
