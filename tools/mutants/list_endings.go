package main

// endScripts break how jobs end that are cancelled, removed or have more than a record.
var endScripts = []mutant{
	{
		Name: "complete-flagged", File: "lua/complete.lua",
		Before: "local why = flags and flags[i] == 1 and 2 or", After: "local why =",
		Breaks: "a job that is to be cancelled ends as cancelled, whatever its outcome",
		Tests:  scripts(),
	},
	{
		Name: "complete-waited", File: "lua/complete.lua",
		Before: "waiters and waiters[i] and not kept[i] and 3", After: "nil",
		Breaks: "whoever waits for a job gets its outcome",
		Tests:  scripts(),
	},
	{
		Name: "end-any", File: "lua/end.lua",
		Before: "redis.call('LREM', place, -1, element) == 1 and 'ended' or 'gone'",
		After:  "redis.call('LREM', place, -1, element) and 'ended'",
		Breaks: "an end counts only while its very claim stands",
		Tests:  scripts(),
	},
	{
		Name: "end-held", File: "lua/end.lua",
		Before: "if redis.call('HEXISTS', claimed, id) == 1 then return 'held' end",
		Breaks: "a job that a worker holds is not ended where it stood before",
		Tests:  scripts("TestAJobThatIsHeldDoesNotEndWhereItStoodBefore"),
	},
	{
		Name: "end-flag-stays", File: "lua/end.lua",
		Before: "redis.call('SREM', cancelled, id)",
		Breaks: "the flag of a job goes with it: another one of its id is not cancelled",
		Tests:  scripts(),
	},
	{
		Name: "end-of-a-successor", File: "lua/end.lua",
		Before: "if state == 'cancelled' and kind ~= 'claim' and not flagged then return 'gone' end",
		Breaks: "a cancellation that comes late does not end another job of that id",
		Tests:  scripts("TestACancellationEndsNoSuccessor"),
	},
	{
		Name: "end-ready-stays", File: "lua/end.lua",
		Before: "if redis.call('LLEN', place) == 0 then redis.call('SREM', KEYS[i], ARGV[i - 6]:sub(7)) end",
		After:  "_ = lengths",
		Breaks: "an empty queue is not among the ready ones",
		Tests:  scripts("TestRemoveEndsAJobWhereItStands"),
	},
	{
		Name: "end-own-stays", File: "lua/end.lua",
		Before: "    redis.call('UNLINK', KEYS[i])\n",
		Breaks: "log and state of a job go with it",
		Tests:  unmodelled("TestAnEndTakesWhatBelongsToTheJob"),
	},
	{
		Name: "end-untold", File: "lua/end.lua",
		Before: "redis.call('LPUSH', KEYS[i], state .. ' ' .. id)",
		Breaks: "the completion queue of a job learns of its end",
		Tests:  unmodelled("TestAnEndTakesWhatBelongsToTheJob"),
	},
	{
		Name: "cancel-unflagged", File: "lua/cancel.lua",
		Before: "redis.call(where == 'morgue' and 'SREM' or 'SADD', cancelled, id)",
		Breaks: "a job that is cancelled does not run, wherever it goes",
		Tests:  scripts(),
	},
	{
		Name: "cancel-the-dead", File: "lua/cancel.lua",
		Before: "redis.call(where == 'morgue' and 'SREM' or 'SADD', cancelled, id)",
		After:  "redis.call('SADD', cancelled, id)",
		Breaks: "what is dead is not cancelled",
		Tests:  scripts(),
	},
	{
		Name: "cancel-unannounced", File: "lua/cancel.lua",
		Before: "if held then redis.call('PUBLISH', control, 'cancel') end",
		Breaks: "a worker that runs a job learns at once that it is cancelled",
		Tests:  unmodelled("TestACancellationIsAnnouncedToWhoHoldsTheJob"),
	},
	{
		Name: "foretell-unflagged", File: "lua/foretell.lua",
		Before: "if not flagged and fresh == '0' then return 'gone' end",
		Breaks: "only a job that is to be cancelled reads as ended before its end",
		Tests:  unmodelled("TestForetellKeepsTheOutcomeOfWhatIsToBeCancelled"),
	},
	{
		Name: "foretell-held", File: "lua/foretell.lua",
		Before: "if redis.call('HEXISTS', claimed, id) == 1 then return 'held' end",
		Breaks: "the outcome of a job that runs is that of its end",
		Tests:  unmodelled("TestForetellKeepsTheOutcomeOfWhatIsToBeCancelled"),
	},
	{
		Name: "foretell-over-another", File: "lua/foretell.lua",
		Before: "if flagged and (fresh == '1' or told and told:find('^{\"state\":\"deleted\"')) then return 'cancelled' " +
			"" +
			"" +
			"" +
			"" +
			"" +
			"end",
		Breaks: "who cancels or deletes a job deep in a queue first decides how it ends",
		Tests:  unmodelled("TestWhatWasForetoldFirstIsHowAJobEnds"),
	},
	{
		Name: "end-otherwise-than-told", File: "lua/end.lua",
		Before: "if said == 'cancelled' or said == 'deleted' then state, outcome = said, told end",
		Breaks: "a job ends as was told before its end",
		Tests:  unmodelled("TestWhatWasForetoldFirstIsHowAJobEnds"),
	},
	{
		Name: "end-deletes-the-cancelled", File: "lua/end.lua",
		Before: "if flagged and state ~= 'cancelled' then return 'cancelled' end",
		After:  "if flagged and state ~= 'cancelled' and state ~= 'deleted' then return 'cancelled' end",
		Breaks: "a job that somebody has cancelled is not deleted",
		Tests:  scripts(),
	},
	{
		Name: "purge-flagged", File: "lua/purge.lua",
		Before: "flags[i] == 1 and doomed or waiters[i] and asked", After: "waiters[i] and asked",
		Breaks: "a job that somebody has cancelled is not purged",
		Tests:  scripts("TestAPurgeRemovesWhatItNamesAndNothingElse"),
	},
	{
		Name: "foretell-untold", File: "lua/foretell.lua",
		Before: "if waiter then redis.call('PUBLISH', done, id) end", After: "_ = waiter",
		Breaks: "whoever waits for such a job is told",
		Tests:  unmodelled("TestForetellKeepsTheOutcomeOfWhatIsToBeCancelled"),
	},
	{
		Name: "unflag-living", File: "lua/unflag.lua",
		Before: "if redis.call('HEXISTS', jobs, ARGV[i]) == 0 and redis", After: "if redis",
		Breaks: "the flag of a job that lives stays",
		Tests:  unmodelled("TestFlagsOfJobsThatAreGoneAreRemoved"),
	},
	{
		Name: "unflag-looks-only", File: "lua/unflag.lua",
		Before: "if ARGV[1] == '1' then redis.call('SREM', cancelled, ARGV[i]) end",
		Breaks: "flags of no job are removed",
		Tests:  unmodelled("TestFlagsOfJobsThatAreGoneAreRemoved"),
	},
	{
		Name: "move-held", File: "lua/move.lua",
		Before: "if redis.call('HEXISTS', claimed, id) == 1 then return 'held' end",
		Breaks: "a job that a worker holds is not moved by hand",
		Tests:  scripts("TestMoveLeavesWhatIsHeldCancelledOrOfAnotherQueue"),
	},
	{
		Name: "move-flagged", File: "lua/move.lua",
		Before: "if redis.call('SISMEMBER', cancelled, id) == 1 then return 'cancelled' end",
		Breaks: "a job that is to be cancelled is not moved by hand",
		Tests:  scripts("TestMoveLeavesWhatIsHeldCancelledOrOfAnotherQueue"),
	},
	{
		Name: "move-another-score", File: "lua/move.lua",
		Before: "if not stands or math.floor(tonumber(stands)) ~= math.floor(tonumber(score)) then return 'gone' end",
		After:  "if not stands then return 'gone' end",
		Breaks: "a job that has come back to a shelf since it was seen stays",
		Tests:  scripts("TestMoveTakesAJobFromOnePlaceToAnother"),
	},
	{
		Name: "move-named", File: "lua/move.lua",
		Before: "  redis.call('HDEL', names, id)\n",
		Breaks: "what is kept of a job on a shelf goes when it leaves the shelf",
		Tests:  scripts("TestMoveTakesAJobFromOnePlaceToAnother"),
	},
	{
		Name: "purge-held", File: "lua/purge.lua",
		Before: "elseif not holders[i] then", After: "else",
		Breaks: "a purge leaves what a worker holds",
		Tests:  scripts("TestAPurgeRemovesWhatItNamesAndNothingElse"),
	},
	{
		Name: "purge-waited", File: "lua/purge.lua",
		Before: "flags[i] == 1 and doomed or waiters[i] and asked", After: "flags[i] == 1 and doomed",
		Breaks: "whoever waits for a job that is purged learns so",
		Tests:  scripts("TestAPurgeRemovesWhatItNamesAndNothingElse"),
	},
	{
		Name: "purge-the-rest", File: "lua/purge.lua",
		Before: "if #rest > 0 then redis.call('RPUSH', queue, unpack(rest)) end",
		Breaks: "a purge removes what it names and nothing else",
		Tests:  scripts("TestAPurgeRemovesWhatItNamesAndNothingElse"),
	},
	{
		Name: "purge-ready-stays", File: "lua/purge.lua",
		Before: "  redis.call('SREM', ready, name)\n",
		Breaks: "a queue that was purged is not among the ready ones",
		Tests:  scripts("TestAPurgeRemovesWhatItNamesAndNothingElse"),
	},
}

// waitScripts break what those rely on who wait for jobs, or look for them.
var waitScripts = []mutant{
	{
		Name: "await-unnoted", File: "lua/await.lua",
		Before: "if #notes > 0 then redis.call('HSET', waited, unpack(notes)) end",
		Breaks: "the end of a job that somebody waits for keeps its outcome",
		Tests:  scripts("TestAwaitSaysWhatHasBecomeOfAJob"),
	},
	{
		Name: "await-the-former", File: "lua/await.lua",
		Before: "local over = not lives or flagged > 0 and redis.call('SISMEMBER', cancelled, id) == 1",
		After:  "local over = true or flagged",
		Breaks: "a job that lives has not ended, though a former one of its id has",
		Tests:  scripts("TestAwaitSaysWhatHasBecomeOfAJob"),
	},
	{
		Name: "await-unbounded", File: "lua/await.lua",
		Before: "elseif from and bytes >= most then", After: "elseif false then",
		Breaks: "no answer is larger than its bounds",
		Tests:  unmodelled("TestAwaitPutsOffLargeOutcomes"),
	},
	{
		Name: "collect-again", File: "lua/collect.lua",
		Before: "if n and tonumber(n) == tonumber(number) then return entry end",
		Breaks: "an entry whose reply was lost is not lost",
		Tests:  unmodelled("TestCollectGivesEachEntryOnce"),
	},
	{
		Name: "collect-stale", File: "lua/collect.lua",
		Before: "if n and tonumber(n) > tonumber(number) then return redis.error_reply('STALE reader ' .. lane .. ' is " +
			"" +
			"" +
			"" +
			"" +
			"" +
			"at call ' .. n) end",
		Breaks: "a call that was given up takes no entry",
		Tests:  unmodelled("TestCollectGivesEachEntryOnce"),
	},
	{
		Name: "collect-newest", File: "lua/collect.lua",
		Before: "entry = redis.call('RPOP', completion)", After: "entry = redis.call('LPOP', completion)",
		Breaks: "a completion queue gives its oldest entry first",
		Tests:  unmodelled("TestCollectGivesEachEntryOnce"),
	},
	{
		Name: "unwait-early", File: "lua/unwait.lua",
		Before: "if stands and (tonumber(stands) or 0) <= time then", After: "if stands then",
		Breaks: "the note of somebody who waits stands for its time",
		Tests:  unmodelled("TestForgetWaitersRemovesWhatHasRunOut"),
	},
	{
		Name: "unwait-what-cannot-be-read", File: "lua/unwait.lua",
		Before: "(tonumber(stands) or 0) <= time", After: "(tonumber(stands) or time + 1) <= time",
		Breaks: "a note that cannot be read does not stay for ever",
		Tests:  unmodelled("TestForgetWaitersRemovesWhatHasRunOut"),
	},
	{
		Name: "lookup-of-the-former", File: "lua/lookup.lua",
		Before: "if not record then return answer(outcome and 'ended' or 'gone', false) end",
		After:  "if outcome or not record then return answer(outcome and 'ended' or 'gone', false) end",
		Breaks: "a job that lives is found, though a former one of its id has ended",
		Tests:  scripts("TestAnIDThatIsUsedAgainIsLookedForInItsNewQueue"),
	},
	{
		Name: "lookup-from-the-back", File: "lua/lookup.lua",
		Before: "at and length - 1 - at or -1", After: "at or -1",
		Breaks: "the position of a job is how many go before it",
		Tests:  scripts("TestThePositionIsToldNearTheEndsOfALongQueue"),
	},
	{
		Name: "lookup-check-in-of-another", File: "lua/lookup.lua",
		Before: "local known = worker ~= '' and claim:find(worker .. ' ', 1, true) == 1",
		After:  "local known = worker ~= ''",
		Breaks: "a job that has changed hands shows no check-in of its former worker",
		Tests:  scripts("TestAJobThatMovesBetweenTheRequestsIsSeenOnce"),
	},
	{
		Name: "page-repeats", File: "lua/page.lua",
		Before: "if before(there, id) or not newest and there == id then", After: "if before(there, id) then",
		Breaks: "who pages through a shelf sees each job once",
		Tests:  unmodelled("TestThoseThatStayOnAShelfComeOnceAndInOrder"),
	},
	{
		Name: "page-by-score", File: "lua/page.lua",
		Before: "while low < high do", After: "while low < 0 do",
		Breaks: "jobs that are due at the same moment are paged through one by one",
		Tests:  unmodelled("TestThoseThatStayOnAShelfComeOnceAndInOrder"),
	},
}
