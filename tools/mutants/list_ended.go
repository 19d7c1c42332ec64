package main

// endedScripts break what is kept of jobs that have ended.
var endedScripts = []mutant{
	{
		Name: "ended-details-of-another", File: "lua/job/complete.lua",
		Before: "if which > 0 then kept[which] = i else told[-which] = i end",
		After:  "if which > 0 then kept[which] = i else told[1 - which] = i end",
		Breaks: "details are kept of their own job",
		Tests:  scripts("TestCompleteKeepsDetailsByStateAndName"), Quick: true,
	},
	{
		Name: "ended-half", File: "lua/job/complete.lua",
		Before: "no = bad('ZCARD', KEYS[i]) or bad('HLEN', KEYS[i + 1])",
		Breaks: "a settlement that meets a broken list of ended jobs does nothing, and can be sent again",
		Tests:  unmodelled("TestEndsNameTheShelfOfAnotherTypeAndDoNothing"),
	},
	{
		Name: "ended-twice-said", File: "lua/job/end.lua",
		Before: "ARGV[i - 6] ~= 'ended' and not said then", After: "ARGV[i - 6] ~= 'ended' then",
		Breaks: "a job that was deleted deep in its queue is listed once",
		Tests:  unmodelled("TestWhatWasForetoldIsListedOnce"),
	},
	{
		Name: "ended-untold", File: "lua/result/keep_outcome.lua",
		Before: "if told ~= '' then remember(ended, details, { id, told, keep }, time) end",
		Breaks: "a job that was deleted deep in its queue is listed from then on",
		Tests:  unmodelled("TestWhatWasForetoldIsListedOnce"),
	},
	{
		Name: "ended-bytes-of-the-former", File: "lua/prelude.lua",
		Before: "bytes = bytes + #jobs[i + 1] - weight(details, jobs[i])", After: "bytes = bytes + #jobs[i + 1]",
		Breaks: "the bytes of what is replaced are not counted any more",
		Tests:  scripts("TestAnIDThatEndsAgainReplacesItsDetails"),
	},
	{
		Name: "ended-one-more", File: "lua/prelude.lua",
		Before: "many <= 10000 and bytes", After: "many <= 10001 and bytes",
		Breaks: "no more than 10,000 jobs of a state and name are listed",
		Tests:  unmodelled("TestAShelfOfEndedJobsIsBounded"),
	},
	{
		Name: "ended-a-byte-more", File: "lua/prelude.lua",
		Before: "bytes <= 16 * 1024 * 1024", After: "bytes <= 16 * 1024 * 1024 + 1",
		Breaks: "no more than 16 MiB are kept of a state and name",
		Tests:  unmodelled("TestAShelfOfEndedJobsIsBounded"),
	},
	{
		Name: "ended-the-newest-goes", File: "lua/prelude.lua",
		Before: "redis.call('ZRANGE', ended, 0, 0)[1]", After: "redis.call('ZRANGE', ended, -1, -1)[1]",
		Breaks: "the oldest go first",
		Tests:  unmodelled("TestAShelfOfEndedJobsIsBounded"),
	},
	{
		Name: "ended-life-shortened", File: "lua/prelude.lua",
		Before: "if redis.call('PTTL', details) < longest then redis", After: "if true then redis",
		Breaks: "a shorter retention shortens no longer one",
		Tests:  unmodelled("TestAnIDThatEndsAgainReplacesItsDetails"),
	},
	{
		Name: "ended-details-stay", File: "lua/repair/remove_expired.lua",
		Before: "  if (place[i] or 0) > 0 then forget(KEYS[place[i]], KEYS[place[i] + 1], id) end",
		Breaks: "details go with the outcome",
		Tests:  scripts("TestDetailsGoWithTheOutcome"),
	},
	{
		Name: "ended-unknown-removed", File: "lua/repair/remove_expired.lua",
		Before: "if not beginning or places[beginning] then", After: "if true then",
		Breaks: "an outcome stays until somebody says where the details of its job are",
		Tests:  scripts("TestDetailsGoWithTheOutcome"),
	},
	{
		Name: "ended-broken-in-the-way", File: "lua/repair/remove_expired.lua",
		Before: "broken and 0 or 2 * i - 3", After: "2 * i - 3",
		Breaks: "a list of another type keeps no outcome from going",
		Tests:  unmodelled("TestABrokenShelfKeepsNoOutcomeFromGoing"),
	},
	{
		Name: "ended-all-at-once", File: "lua/repair/remove_expired.lua",
		Before: "  if bytes > tonumber(ARGV[2]) and looked > 0 then break end",
		Breaks: "no call looks at more than some MiB of outcomes",
		Tests:  unmodelled("TestLargeOutcomesExpireInParts"),
	},
	{
		Name: "ended-drops-another", File: "lua/result/drop_outcome.lua",
		Before: "if kept:sub(1, #beginning) ~= beginning then return 'changed' end",
		Breaks: "what is dropped is what was read",
		Tests:  unmodelled("TestAnOutcomeThatHasChangedIsNotDropped"),
	},
	{
		Name: "agree-details-sound", File: "lua/repair/agree_details.lua",
		Before: "if (listed and not kept) or (kept and not listed) then", After: "if listed or kept then",
		Breaks: "a job that is listed with its details stays",
		Tests:  doctored(),
	},
	{
		Name: "agree-details-unlisted", File: "lua/repair/agree_details.lua",
		Before: " or (kept and not listed) then", After: " then",
		Breaks: "nothing is kept of jobs that no list has",
		Tests:  doctored(),
	},
	{
		Name: "again-unmarked", File: "lua/inspect/again.lua",
		Before: "redis.call('HSET', details, former, marked, '', ms(math.max(0, bytes)))",
		Breaks: "a job is enqueued again once",
		Tests:  unmodelled("TestAJobIsEnqueuedAgainOnce"),
	},
	{
		Name: "again-lives", File: "lua/inspect/again.lua",
		Before: " or redis.call('HEXISTS', jobs, former) == 1 then", After: " then",
		Breaks: "a job whose id lives again is not enqueued again",
		Tests:  unmodelled("TestWhatKeepsAJobFromBeingEnqueuedAgain"),
	},
	{
		Name: "again-other-end", File: "lua/inspect/again.lua",
		Before: "kept ~= seen or outcome:sub(1, #beginning) ~= beginning or", After: "kept ~= seen or",
		Breaks: "only the end that was seen is repeated",
		Tests:  unmodelled("TestWhatKeepsAJobFromBeingEnqueuedAgain"),
	},
	{
		Name: "again-own-lock", File: "lua/inspect/again.lua",
		Before: "owner and owner ~= former and", After: "owner and",
		Breaks: "the lock of the former job is no obstacle",
		Tests:  unmodelled("TestWhatKeepsAJobFromBeingEnqueuedAgain"),
	},
	{
		Name: "again-timed-lock", File: "lua/inspect/again.lua",
		Before: "digest ~= '' and kind ~= 't' then", After: "digest ~= '' then",
		Breaks: "a lock for a time is not taken without one",
		Tests:  unmodelled("TestALockForATimeIsNotTakenAgain"),
	},
}
