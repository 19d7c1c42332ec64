package main

var settleScripts = []mutant{
	{
		Name: "complete-any", File: "lua/job/complete.lua",
		Before: "if wanted[element] then there[element] = true else rest[#rest + 1] = element end",
		After:  "for i = from, to do there[elements[i]] = true end",
		Breaks: "an outcome counts only while its very claim stands",
		Tests:  scripts("TestCompleteEndsWhatIsHeldAndNothingElse"), Quick: true,
	},
	{
		Name: "complete-claim-stays", File: "lua/job/complete.lua",
		Before: "redis.call('HDEL', claimed, unpack(ended))",
		Breaks: "the index of claims forgets a claim with it",
		Tests:  scripts("TestCompleteEndsWhatIsHeldAndNothingElse"),
	},
	{
		Name: "complete-outcome-of-another", File: "lua/job/complete.lua",
		Before: "      kept[i] = nil\n", After: "",
		Breaks: "the outcome that is kept is that of the claim that stood",
		Tests:  scripts("TestCompleteKeepsNoOutcomeOfAClaimThatIsGone"),
	},
	{
		Name: "complete-half", File: "lua/job/complete.lua",
		Before: "if ARGV[at] then refusal = refusal or bad('HLEN', outcomes) or bad('ZCARD', expiry) end",
		Breaks: "a settlement that meets a broken key does nothing, and can be sent again",
		Tests:  unmodelled("TestSettlementsNameTheKeyOfAnotherTypeAndDoNothing"),
	},
	{
		Name: "shelve-any", File: "lua/job/shelve.lua",
		Before: "if redis.call('LREM', inprocess, -1, element) == 0 then return 'gone' end",
		After:  "redis.call('LREM', inprocess, -1, element)",
		Breaks: "a retry, a snooze and a burial count only while their very claim stands",
		Tests:  scripts("TestShelvePutsAJobOnAShelf"),
	},
	{
		Name: "shelve-crashes-stay", File: "lua/job/shelve.lua",
		Before: "if keep ~= '1' then redis.call('HDEL', crashes, id) end",
		Breaks: "an attempt that ended in good order clears a job of earlier crashes",
		Tests:  scripts("TestShelvePutsAJobOnAShelf"),
	},
	{
		Name: "shelve-nameless", File: "lua/job/shelve.lua",
		Before: "redis.call('HSET', names, id, queue)",
		Breaks: "the queue of every job on a shelf is known",
		Tests:  scripts("TestShelvePutsAJobOnAShelf"),
	},
	{
		Name: "release-any", File: "lua/job/release.lua",
		Before: "if redis.call('LREM', inprocess, -1, ARGV[i]) == 1 then",
		After:  "if redis.call('LREM', inprocess, -1, ARGV[i]) >= 0 then",
		Breaks: "only who holds a job can give it back: otherwise it stands in its queue twice",
		Tests:  scripts("TestReleaseGivesBackInTheOldOrder"),
	},
	{
		Name: "release-to-the-back", File: "lua/job/release.lua",
		Before: "redis.call('RPUSH', queue, unpack(", After: "redis.call('LPUSH', queue, unpack(",
		Breaks: "what is given back goes before what came later",
		Tests:  scripts("TestReleaseGivesBackInTheOldOrder"), Quick: true,
	},
	{
		Name: "release-reversed", File: "lua/job/release.lua",
		Before: "for i = #ids, 1, -1 do", After: "for i = 1, #ids do",
		Breaks: "what is given back keeps its order",
		Tests:  scripts("TestReleaseGivesBackInTheOldOrder"),
	},
	{
		Name: "release-older-stay", File: "lua/job/release.lua",
		Before: "if place then", After: "if false then",
		Breaks: "what was fetched before stands before what comes back after it",
		Tests:  unmodelled("TestWhatIsOlderStandsBeforeWhatIsReleased"),
	},
	{
		Name: "release-older-twice", File: "lua/job/release.lua",
		Before: "if from <= #front then redis.call('LTRIM', queue, 0, from - #front - 2) end",
		Breaks: "what moves on in a queue stands there once",
		Tests:  unmodelled("TestWhatIsOlderStandsBeforeWhatIsReleased"), Quick: true,
	},
	{
		Name: "release-trims-one-more", File: "lua/job/release.lua",
		Before: "from - #front - 2", After: "from - #front - 3",
		Breaks: "what stands behind those that move on is not lost",
		Tests:  unmodelled("TestAReleaseMovesAtMostWhatItNames"),
	},
	{
		Name: "release-crashes-of-all", File: "lua/job/release.lua",
		Before: "if of.begun and not alive then", After: "if not alive then",
		Breaks: "a job that kills its workers does not have its innocent neighbours buried",
		Tests:  scripts("TestACrashCountsAgainstWhatRan"),
	},
	{
		Name: "release-crash-forgotten", File: "lua/job/release.lua",
		Before: "before[i] or ''", After: "''",
		Breaks: "the crashes of a job add up, until it is buried",
		Tests:  scripts("TestACrashCountsAgainstWhatRan"),
	},
	{
		Name: "release-not-ready", File: "lua/job/release.lua",
		Before: "redis.call('SADD', ready, name)",
		Breaks: "a queue that something was given back to is among the ready ones",
		Tests:  scripts("TestReleaseGivesBackInTheOldOrder"),
	},
	{
		Name: "release-no-token", File: "lua/job/release.lua",
		Before: "wake(tokens, 1)",
		Breaks: "what is given back wakes those who can take it",
		Tests:  scripts("TestReleaseGivesBackInTheOldOrder"),
	},
}
