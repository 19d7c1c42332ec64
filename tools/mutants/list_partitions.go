package main

// partitionScripts are about who goes by an older map of the partitions, and who decides a newer one.
var partitionScripts = []mutant{
	{
		Name: "route-one-queue", File: "lua/job/enqueue.lua",
		Before: "if version and tonumber(version) > (tonumber(map) or 0) then return redis.error_reply('ROUTE ' .. " +
			"version) end",
		Breaks: "who goes by an older map of the partitions stores nothing",
		Tests:  unmodelled("TestWhoGoesByAnOlderMapIsSentElsewhere"),
	},
	{
		Name: "route-all-kinds", File: "lua/prelude.lua",
		Before: "if map then return elsewhere(version, map), last, n end",
		Breaks: "who goes by an older map of the partitions stores nothing, of whatever kind its jobs are",
		Tests:  unmodelled("TestWhoGoesByAnOlderMapIsSentElsewhere"),
	},
	{
		Name: "route-before-the-answer", File: "lua/prelude.lua",
		Before: "  local n = last and last:match('^%d+')\n  if n == number then",
		After: "  local n = last and last:match('^%d+')\n" +
			"  if map and elsewhere(version, map) then return elsewhere(version, map) end\n  if n == number then",
		Breaks: "a call that was executed is answered by what it did, also after the map has changed",
		Tests:  unmodelled("TestACallSentAgainIsAnsweredWhateverTheMapIs"),
	},
	{
		Name: "route-define", File: "lua/schedule/define.lua",
		Before: "\n  or elsewhere(redis.call('HGET', lanes, ''), map)",
		Breaks: "a schedule is not said to be gone by a partition that it has left",
		Tests:  unmodelled("TestWhoGoesByAnOlderMapIsSentElsewhere"),
	},
	{
		Name: "route-tick-sent-again", File: "lua/schedule/tick.lua",
		Before: "if last ~= seen then return",
		After: "if elsewhere(redis.call('HGET', lanes, ''), map) then return elsewhere('9', 0) end\n" +
			"if last ~= seen then return",
		Breaks: "a tick that was taken is not refused when it is sent again",
		Tests:  unmodelled("TestATickSentAgainIsAnsweredWhateverTheMapIs"),
	},
	{
		Name: "tracked-not", File: "lua/job/enqueue_mixed.lua",
		Before: "if #to.listed > 0 then redis.call('RPUSH', tracked, unpack(to.listed)) end",
		Breaks: "what is bound is listed for who moves it",
		Tests:  unmodelled("TestWhatIsTrackedIsListedAsItIsStored"),
	},
	{
		Name: "map-of-two-writers", File: "lua/partition/write_map.lua",
		Before: "if known == version and redis.call('GET', map) == text then", After: "if known == version then",
		Breaks: "of two writers of a version one has it",
		Tests:  unmodelled("TestOneOfTwoWritersOfAMapHasIt"),
	},
	{
		Name: "map-goes-back", File: "lua/partition/write_map.lua",
		Before: "if tonumber(known) >= tonumber(version) then return tonumber(known) end",
		Breaks: "a partition never gets an older map",
		Tests:  unmodelled("TestOneOfTwoWritersOfAMapHasIt"),
	},
	{
		Name: "pause-older", File: "lua/limit/pause.lua",
		Before: "  if known > tonumber(version) then return 0 end\n",
		Breaks: "what was said of a queue before does not undo what was said since",
		Tests:  unmodelled("TestTheNewestThatIsSaidOfAQueueCounts"),
	},
	{
		Name: "pause-tie", File: "lua/limit/pause.lua",
		Before: "(before == after or paused == '1')", After: "before == after",
		Breaks: "of two controls of one version all partitions end up with the same",
		Tests:  unmodelled("TestTheNewestThatIsSaidOfAQueueCounts"),
	},
	{
		Name: "pause-forgets-its-version", File: "lua/limit/pause.lua",
		Before: "if version ~= '0' then redis.call('HSET', pauses, name, version) end",
		Breaks: "a partition knows when something was said of a queue that goes on",
		Tests:  unmodelled("TestTheNewestThatIsSaidOfAQueueCounts"),
	},
	{
		Name: "forget-what-was-said-since", File: "lua/limit/forget.lua",
		Before: "redis.call('HGET', pauses, ARGV[i]) == ARGV[i + 1]", After: "true",
		Breaks: "what is said of a queue while it is being forgotten stays",
		Tests:  moves("TestWhatIsSaidWhileItIsForgottenStays"),
	},
	{
		Name: "hint-older", File: "lua/limit/hint.lua",
		Before: "if note and newer(control, noted or '') or", After: "if note or",
		Breaks: "an older hint does not replace a newer one",
		Tests:  unmodelled("TestTheNewestHintIsKept"),
	},
	{
		Name: "hint-of-another", File: "lua/limit/hint.lua",
		Before: "not note and noted == control", After: "not note and noted",
		Breaks: "a hint that is newer than what was told stays",
		Tests:  unmodelled("TestTheNewestHintIsKept"),
	},
}
