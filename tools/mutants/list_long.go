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
		Before: "if by == claim and tonumber(batch) <= tonumber(last) then\n", After: "if false then\n",
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

// stepped are tests of whole pools whose jobs have steps.
func stepped(names ...string) []tests { return []tests{{"./internal/enginetest/steps", names}} }

// stepScripts break what remembers how far a job came.
var stepScripts = []mutant{
	{
		Name: "step-without-claim", File: "lua/job/step.lua",
		Before: "if not redis.call('LPOS', inprocess, element, 'RANK', -1) then return 'gone' end",
		Breaks: "a worker that has lost a job stores no step",
		Tests:  unmodelled("TestAStepIsWrittenOnceAndStays"),
	},
	{
		Name: "step-again", File: "lua/job/step.lua",
		Before: "if not seen[name] and (void or redis.call('HEXISTS', steps, name) == 0) then",
		After:  "if not seen[name] then",
		Breaks: "a step that is stored stays as it is",
		Tests:  unmodelled("TestAStepIsWrittenOnceAndStays"),
	},
	{
		Name: "step-of-a-former-job", File: "lua/job/step.lua",
		Before: "local void, count = of ~= digest, 0", After: "local void, count = not of, 0",
		Breaks: "a job has no steps of an earlier one of its id",
		Tests:  unmodelled("TestStepsOfAnEarlierJobOfTheIdCountAsNone"),
	},
	{
		Name: "step-too-many", File: "lua/job/step.lua",
		Before: "if count + #fields / 2 > tonumber(most) or bytes", After: "if bytes",
		Breaks: "a job has so many steps and no more",
		Tests:  unmodelled("TestStepsAreBoundedInNumberAndBytes"),
	},
	{
		Name: "step-too-large", File: "lua/job/step.lua",
		Before: "tonumber(most) or bytes > tonumber(room) then", After: "tonumber(most) then",
		Breaks: "a job has so many bytes of steps and no more",
		Tests:  unmodelled("TestStepsAreBoundedInNumberAndBytes"),
	},
	{
		Name: "step-forgotten", File: "lua/job/step.lua",
		Before: "if count < tonumber(known) then return 'lost' end\n",
		Breaks: "steps that a failover has lost are sent again",
		Tests:  stepped("TestStepsThatRedisHasForgottenAreSentAgain"),
	},
	{
		Name: "step-unnoted", File: "lua/job/step.lua",
		Before: "if note ~= '' and redis.call('HGET', trail, id) ~= fuller then", After: "if false then",
		Breaks: "who ends a job knows that it has steps",
		Tests:  unmodelled("TestAStepIsWrittenOnceAndStays"),
	},
	{
		Name: "wait-without-claim", File: "lua/job/receive.lua",
		Before: "if not redis.call('LPOS', inprocess, element, 'RANK', -1) then return 'gone' end",
		Breaks: "a worker that has lost a job takes no message of it",
		Tests:  stepped("TestAFencedWorkerWritesNothing"),
	},
	{
		Name: "wait-anew", File: "lua/job/receive.lua",
		Before: "local ends = text and text:match('^%a+ (%d+)') or untold", After: "local ends = untold",
		Breaks: "a wait ends when it was first to end",
		Tests:  unmodelled("TestAWaitKeepsTheEndThatItHadFirst"),
	},
	{
		Name: "wait-outlived", File: "lua/job/receive.lua",
		Before: "life = ms(tonumber(life) + math.max(0, tonumber(ends) - time))\n",
		Breaks: "steps are kept for longer than the wait behind them",
		Tests:  unmodelled("TestAWaitKeepsTheEndThatItHadFirst"),
	},
	{
		Name: "message-taken-and-left", File: "lua/job/receive.lua",
		Before: "  redis.call('LREM', mail, 1, letter)\n",
		Breaks: "a message that was taken is not in the mailbox any more",
		Tests:  unmodelled("TestAMessageIsTakenAsAStep"),
	},
	{
		Name: "message-of-another-name", File: "lua/prelude.lua",
		Before: "if letters[i]:sub(blank + 1, blank + #name + 1) == name .. '\\0' then return letters[i] end",
		After:  "if letters[i]:sub(blank + 1, blank + #name) == name then return letters[i] end",
		Breaks: "a job gets the message that it asks for",
		Tests:  unmodelled("TestAMessageIsTakenAsAStep"),
	},
	{
		Name: "message-between", File: "lua/job/shelve.lua",
		Before: "due = completion and letter_of(completion, of, message) and now() or tonumber(delay)",
		After:  "due = tonumber(delay)",
		Breaks: "a message that comes between the look and the end of the attempt wakes the job",
		Tests: append(unmodelled("TestWhoWaitsForAMessageIsDueWithIt"),
			stepped("TestNoMessageIsLostBetweenTheLookAndTheEnd")...),
	},
	{
		Name: "message-wakes-nobody", File: "lua/job/send.lua",
		Before: "local score = due and tonumber(due) > time and turn", After: "local score = false and turn",
		Breaks: "a job that waits for a message is due with it",
		Tests:  unmodelled("TestWhoWaitsForAMessageIsDueWithIt"),
	},
	{
		Name: "message-wakes-a-sleeper", File: "lua/job/send.lua",
		Before: "local due = wait and wait:find('^wait ') and", After: "local due = wait and",
		Breaks: "a job that does not wait for the message is left alone",
		Tests:  unmodelled("TestAMessageOfTheNameOfASleepWakesNobody"),
	},
	{
		Name: "message-twice", File: "lua/job/send.lua",
		Before: "if answer then return answer end\n",
		Breaks: "a message that is sent again is stored once",
		Tests:  unmodelled("TestAMailboxIsBoundedAndOfOneJob"),
	},
	{
		Name: "message-to-a-former-job", File: "lua/job/send.lua",
		Before: "local void, count = of ~= digest, there", After: "local void, count = not of, there",
		Breaks: "a job gets no messages to an earlier one of its id",
		Tests:  unmodelled("TestAMailboxIsBoundedAndOfOneJob"),
	},
	{
		Name: "mailbox-too-full", File: "lua/job/send.lua",
		Before: "if count > tonumber(most) or bytes", After: "if bytes",
		Breaks: "a mailbox has so many messages and no more",
		Tests:  unmodelled("TestAMailboxIsBoundedAndOfOneJob"),
	},
	{
		Name: "mailbox-too-large", File: "lua/job/send.lua",
		Before: "tonumber(most) or bytes > tonumber(room) then", After: "tonumber(most) then",
		Breaks: "a mailbox has so many bytes and no more",
		Tests:  unmodelled("TestAMailboxIsBoundedAndOfOneJob"),
	},
	{
		Name: "mailbox-of-one-on-its-way", File: "lua/repair/remove_mail.lua",
		Before: "(tonumber(sent) or 0) < before and ",
		Breaks: "the mailbox of a job that is being moved to here stays",
		Tests:  unmodelled("TestMailboxesOfNoJobGoAfterAnHour"),
	},
	{
		Name: "mailbox-of-one-that-lives", File: "lua/repair/remove_mail.lua",
		Before: " and redis.call('HEXISTS', jobs, id) == 0",
		Breaks: "the mailbox of a job that lives stays",
		Tests:  unmodelled("TestMailboxesOfNoJobGoAfterAnHour"),
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
