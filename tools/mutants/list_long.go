package main

// collected are tests of the package of objects.
func collected(names ...string) []tests { return []tests{{"./objects", names}} }

// longScripts break the logs and states of long jobs.
var longScripts = []mutant{
	{
		Name: "log-without-claim", File: "lua/job/log.lua",
		Before: "if not redis.call('LPOS', inprocess, element, 'RANK', -1) then return 'gone' end",
		Breaks: "a worker that has lost a job writes nothing into its log",
		Tests:  unmodelled("TestLogsAndStatesOfALostClaimDoNotMix"),
	},
	{
		Name: "log-again", File: "lua/job/log.lua",
		Before: "if by == claim and tonumber(batch) <= tonumber(last) then return 'logged' end",
		Breaks: "lines that are sent twice stand there once",
		Tests:  unmodelled("TestALogNumbersItsLinesAndCountsABatchOnce"),
	},
	{
		Name: "log-without-end", File: "lua/job/log.lua",
		Before: "local function over() return kept > tonumber(most) or bytes > tonumber(room) end",
		After:  "local function over() return bytes > tonumber(room) end",
		Breaks: "a log has so many lines and no more",
		Tests:  unmodelled("TestALogLetsGoOfItsOldestLines"),
	},
	{
		Name: "log-too-large", File: "lua/job/log.lua",
		Before: "return kept > tonumber(most) or bytes > tonumber(room) end", After: "return kept > tonumber(most) end",
		Breaks: "a log has so many bytes and no more",
		Tests:  unmodelled("TestALogLetsGoOfItsOldestLines"),
	},
	{
		Name: "log-over-a-fuller-note", File: "lua/job/log.lua",
		Before: "if note ~= '' and redis.call('HGET', trail, id) ~= fuller then", After: "if note ~= '' then",
		Breaks: "a note that comes late does not hide that there is a state too",
		Tests:  unmodelled("TestALateNoteDoesNotReplaceAFullerOne"),
	},
	{
		Name: "save-without-claim", File: "lua/job/save.lua",
		Before: "if not redis.call('LPOS', inprocess, element, 'RANK', -1) then return 'gone' end",
		Breaks: "a worker that has lost a job does not overwrite what its successor saves",
		Tests:  unmodelled("TestLogsAndStatesOfALostClaimDoNotMix"),
	},
	{
		Name: "save-older", File: "lua/job/save.lua",
		Before: "if last and tonumber(last) >= tonumber(number) then return 'saved' end",
		Breaks: "a state that comes late does not replace a newer one",
		Tests:  unmodelled("TestAStateIsReplacedByNewerOnesOnly"),
	},
	{
		Name: "save-for-ever", File: "lua/job/save.lua",
		Before: "redis.call('SET', state, head .. number .. rest, 'PX', life)",
		After:  "redis.call('SET', state, head .. number .. rest)",
		Breaks: "the state of a job that nobody ends goes after its time",
		Tests:  unmodelled("TestAStateIsReplacedByNewerOnesOnly"),
	},
}

// objectScripts break what keeps objects as long as they are needed.
var objectScripts = []mutant{
	{
		Name: "object-drop-referred", File: "lua/object/drop.lua",
		Before: "tonumber(used) <= before and referring == 0 then", After: "tonumber(used) <= before then",
		Breaks: "an object that a job refers to stays",
		Tests:  collected("TestTheScriptThatRemovesLooksAgain", "TestTheCollectorLeavesWhatIsNeeded"),
	},
	{
		Name: "object-drop-used", File: "lua/object/drop.lua",
		Before: "and tonumber(used) <= before and", After: "and",
		Breaks: "an object that was just used stays",
		Tests:  collected("TestTheScriptThatRemovesLooksAgain"),
	},
	{
		Name: "object-drop-unmarked", File: "lua/object/drop.lua",
		Before: "if mark ~= '' then redis.call('SET', leaving, mark, 'PX', ARGV[3]) end",
		Breaks: "nobody stores a content in its home while it is taken out",
		Tests: collected("TestNoObjectIsDroppedFromItsHomeWhileASubmitIsUnderWay",
			"TestPutWaitsForACollectorThatTakesItOut", "TestALostReplyOfARemovalFromAHome"),
	},
	{
		Name: "object-gone-of-another", File: "lua/object/mark_removed.lua",
		Before: "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end",
		Breaks: "a collector that is late takes no mark of another one away",
		Tests:  unmodelled("TestAMarkIsTakenAwayByItsOwnCollector"),
	},
	{
		Name: "object-keep-short", File: "lua/object/keep.lua",
		Before: "elseif redis.call('EXISTS', upload) == 1 and uploaded == size then",
		After:  "elseif redis.call('EXISTS', upload) == 1 then",
		Breaks: "an upload that is not there in full is no object",
		Tests:  unmodelled("TestAnUploadThatIsNotThereInFullIsNoObject"),
	},
	{
		Name: "object-keep-unlisted", File: "lua/object/keep.lua",
		Before: "redis.call('ZADD', objects, ms(now()), ARGV[1])",
		Breaks: "every object is known to the collector",
		Tests:  collected("TestWhatIsPutIsRead", "TestTheCollectorLeavesWhatIsNeeded"),
	},
	{
		Name: "object-prune-living", File: "lua/object/prune.lua",
		Before: "if redis.call('HEXISTS', jobs, ARGV[i]) == 0 and redis", After: "if redis",
		Breaks: "a job that lives keeps what it refers to",
		Tests:  collected("TestReferencesOfJobsThatAreGoneKeepNothing", "TestTheCollectorLeavesWhatIsNeeded"),
	},
	{
		Name: "object-prune-outcome", File: "lua/object/prune.lua",
		Before: " and redis.call('HEXISTS', outcomes, ARGV[i]) == 0 then", After: " then",
		Breaks: "an outcome that is kept keeps what it refers to",
		Tests:  collected("TestReferencesOfJobsThatAreGoneKeepNothing", "TestTheCollectorLeavesWhatIsNeeded"),
	},
	{
		Name: "object-refer-vanished", File: "lua/object/refer.lua",
		Before: "or ARGV[2] == '1' and redis.call('EXISTS', object) == 0 then return -1 end",
		After:  "then return -1 end",
		Breaks: "nobody refers to what has vanished",
		Tests:  collected("TestNobodyRefersToWhatHasVanished"),
	},
	{
		Name: "object-refer-unused", File: "lua/object/refer.lua",
		Before: "redis.call('ZADD', objects, ms(now()), ARGV[1])",
		Breaks: "a reference is a use",
		Tests:  collected("TestAReferenceIsAUse"),
	},
	{
		Name: "object-reserve-leaving", File: "lua/object/reserve.lua",
		Before: "if redis.call('EXISTS', leaving) == 1 then return 'leaving' end",
		Breaks: "what a collector takes away is not stored again before it is gone",
		Tests:  collected("TestPutWaitsForACollectorThatTakesItOut"),
	},
	{
		Name: "object-reserve-unnoted", File: "lua/object/reserve.lua",
		Before: "redis.call('ZADD', objects, ms(now()), ARGV[1])",
		Breaks: "nothing is in another home that is not noted here",
		Tests:  collected("TestAnObjectLivesInItsHome", "TestContentsThatRedisForgotAreCollectedAfterTheGracePeriod"),
	},
	{
		Name: "object-touch-damaged", File: "lua/object/touch.lua",
		Before: " or length ~= tonumber(ARGV[2]) then return 'absent' end", After: " then return 'absent' end",
		Breaks: "an object of another length is stored anew",
		Tests:  collected("TestTamperedContentIsFound"),
	},
	{
		Name: "object-touch-unnoted", File: "lua/object/touch.lua",
		Before: "redis.call('ZADD', objects, ms(now()), ARGV[1])",
		Breaks: "what somebody is about to use is not collected",
		Tests: collected("TestTheCollectorLeavesWhatIsNeeded", "TestTheScriptThatRemovesLooksAgain",
			"TestNoObjectIsDroppedWhileASubmitOfItIsUnderWay"),
	},
	{
		Name: "object-unrefer-nothing", File: "lua/object/unrefer.lua",
		Before: "return redis.call('SREM', KEYS[1], unpack(ARGV))", After: "return #ARGV",
		Breaks: "what no job refers to any more can be collected",
		Tests:  collected("TestReferencesAreCountedOnceForEachJob", "TestReferencesOfJobsThatAreGoneKeepNothing"),
	},
}
