package main

var lifeScripts = []mutant{
	{
		Name: "condemn-unsteady", File: "lua/condemn.lua",
		Before: "if time - tonumber(since) >= life then", After: "if true then",
		Breaks: "a worker that was itself away judges nobody: after an outage all would look dead",
		Tests:  scripts("TestCondemnNeedsASteadyReaperAndALapsedTarget"),
	},
	{
		Name: "condemn-living", File: "lua/condemn.lua",
		Before: "elseif redis.call('SISMEMBER', workers, target) == 1 and left == -2 then",
		After:  "elseif redis.call('SISMEMBER', workers, target) == 1 then",
		Breaks: "a worker with a heartbeat is not declared dead",
		Tests:  scripts("TestCondemnNeedsASteadyReaperAndALapsedTarget"), Quick: true,
	},
	{
		Name: "condemn-unnoted", File: "lua/condemn.lua",
		Before: "redis.call('SADD', dead, target)",
		Breaks: "whoever likes goes on taking a dead worker apart where another stopped",
		Tests:  scripts("TestCondemnNeedsASteadyReaperAndALapsedTarget"),
	},
	{
		Name: "condemn-set-back", File: "lua/condemn.lua",
		Before: "if life > 0 and left > most then", After: "if false then",
		Breaks: "a worker that dies when Redis' clock is set back is found dead all the same",
		Tests:  pool("TestAClockSetBackKeepsNobodyAlive"),
	},
	{
		Name: "condemn-untold", File: "lua/condemn.lua",
		Before: "told or tonumber(ARGV[1]), told or tonumber(ARGV[2])",
		After:  "told or tonumber(ARGV[1]), told or tonumber(ARGV[1])",
		Breaks: "a worker that does not say how long its heartbeats last is not taken for dead while one does",
		Tests:  scripts("TestHeartbeatsOfThoseWhoDoNotTellTheirLengthAreLeftAlone"),
	},
	{
		Name: "absolve-later", File: "lua/absolve.lua",
		Before: "if redis.call('HLEN', info) > 0 then redis.call('HSET', info, 'alive', '1') end",
		Breaks: "what a worker that was only away still holds goes back without a crash",
		Tests:  unmodelled("TestWhoWasOnlyAwayHasCrashedWithNothing"),
	},
	{
		Name: "register-former-unnoted", File: "lua/register.lua",
		Before: "redis.call('SADD', dead, former)",
		Breaks: "what a worker held under the id that it lost goes back",
		Tests:  scripts("TestRegisterGivesTheFormerWorkerToTheReapers"),
	},
	{
		Name: "register-former-lives", File: "lua/register.lua",
		Before: "redis.call('SREM', workers, former)",
		Breaks: "a worker has one id that counts",
		Tests:  scripts("TestRegisterGivesTheFormerWorkerToTheReapers"),
	},
	{
		Name: "register-the-dead", File: "lua/register.lua",
		Before: "if redis.call('SISMEMBER', dead, worker) == 0 then\n", After: "do\n",
		Breaks: "the dead do not come back, not by a registration that lands late either",
		Tests:  scripts("TestRegisterGivesTheFormerWorkerToTheReapers"),
	},
	{
		Name: "beat-resurrects", File: "lua/beat.lua",
		Before: "if redis.call('SISMEMBER', workers, worker) == 0 then return { 'fenced' } end",
		After:  "redis.call('SADD', workers, worker)",
		Breaks: "a worker whose jobs others have learns it from its next heartbeat",
		Tests:  scripts("TestBeatTellsTheFencedAndTheLost"),
	},
	{
		Name: "beat-any-epoch", File: "lua/beat.lua",
		Before: "if kept ~= known then return { 'lost' } end",
		Breaks: "a Redis that lost its data is told from one that declared the worker dead",
		Tests:  unmodelled("TestBeatTellsTheFencedAndTheLost"),
	},
	{
		Name: "beat-steady-at-once", File: "lua/beat.lua",
		Before: "'RUN ' .. time, 'PX', life)", After: "'RUN 0', 'PX', life)",
		Breaks: "a worker that comes back is no judge of others for three seconds",
		Tests:  scripts("TestBeatKeepsAWorkerAlive"),
	},
	{
		Name: "beat-lapsed", File: "lua/beat.lua",
		Before: "if not since or since > tonumber(time) then", After: "if since and since > tonumber(time) then",
		Breaks: "a worker that Redis did not hear for some seconds lives on",
		Tests:  scripts("TestBeatKeepsAWorkerAlive"),
	},
	{
		Name: "beat-clock-set-back", File: "lua/beat.lua",
		Before: "if not since or since > tonumber(time) then", After: "if not since then",
		Breaks: "a clock of Redis that is set back keeps no worker from judging the dead",
		Tests:  unmodelled("TestBeatMendsAHeartbeatSinceATimeToCome"),
	},
	{
		Name: "beat-check-in-of-another", File: "lua/beat.lua",
		Before: " and claim:find(worker .. ' ' .. ARGV[i + 1] .. ' ', 1, true) == 1 then", After: " then",
		Breaks: "a check-in is kept only while its claim stands, so that it is removed with it",
		Tests:  scripts("TestBeatNotesCheckInsOnlyWhileTheClaimStands"),
	},
	{
		Name: "beat-lease-for-all", File: "lua/beat.lua",
		Before: "elseif not holder or holder == worker then", After: "elseif true then",
		Breaks: "one worker at a time has the lease",
		Tests:  scripts("TestBeatGivesTheLeaseToOneWorker"),
	},
	{
		Name: "beat-deputy-for-all", File: "lua/beat.lua",
		Before: "elseif not second or second == worker then", After: "elseif true then",
		Breaks: "two workers look after all others, and no more",
		Tests:  scripts("TestBeatMakesOneWorkerTheDeputy"),
	},
	{
		Name: "beat-both-places", File: "lua/beat.lua",
		Before: "if second == worker then redis.call('UNLINK', deputy) end\n  role = 1", After: "role = 1",
		Breaks: "the deputy that gets the lease leaves its place to another worker",
		Tests:  scripts("TestBeatMakesOneWorkerTheDeputy"),
	},
	{
		Name: "condemn-unexpected", File: "lua/condemn.lua",
		Before: "expect(deadlines, target, time + math.max(left, 0))",
		Breaks: "a worker that writes no deadline is looked at until it has one, and not each second",
		Tests:  scripts("TestWorkersWithoutADeadlineAreFound"),
	},
	{
		Name: "forget-holding", File: "lua/forget.lua",
		Before: "if #held > 0 then return { 'holding', held } end",
		Breaks: "a worker is forgotten only once nothing is left in its lists",
		Tests:  scripts("TestForgetRemovesOnlyWhoHoldsNothing"), Quick: true,
	},
	{
		Name: "forget-part-of-the-living", File: "lua/forget.lua",
		Before: "if known > #ARGV - 1 and #ARGV > 1 and redis.call('SISMEMBER', workers, ARGV[1]) == 0 then",
		After:  "if known > #ARGV - 1 and #ARGV > 1 then",
		Breaks: "a worker that fetches keeps its queues until it leaves them",
		Tests:  unmodelled("TestForgetRemovesOnlyWhoHoldsNothing"),
	},
	{
		Name: "forget-fewer-queues", File: "lua/forget.lua",
		Before: "if known > 0 and known ~= #ARGV - 1 then return { 'changed', {} } end",
		Breaks: "who forgets a worker looked at all of its lists",
		Tests:  unmodelled("TestForgetRemovesOnlyWhoHoldsNothing"),
	},
	{
		Name: "forget-other-queues", File: "lua/forget.lua",
		Before: "if redis.call('SISMEMBER', mine, ARGV[i]) == 0 then return { 'changed', {} } end",
		Breaks: "who forgets a worker looked at its lists, and not at others",
		Tests:  unmodelled("TestForgetRemovesOnlyWhoHoldsNothing"),
	},
}

var careScripts = []mutant{
	{
		Name: "due-stays", File: "lua/due.lua",
		Before: "  redis.call('ZREM', shelf, unpack(ids))\n",
		Breaks: "a job that becomes due leaves its shelf: it is moved once, however often that is asked for",
		Tests:  scripts("TestDueMovesWhatIsDueAndSaysWhatIsNext"),
	},
	{
		Name: "due-early", File: "lua/due.lua",
		Before: " and tonumber(score) < after",
		Breaks: "no job runs before it is due by the clock of Redis",
		Tests:  scripts("TestDueMovesWhatIsDueAndSaysWhatIsNext"),
	},
	{
		Name: "due-a-ms-late", File: "lua/due.lua",
		Before: "local after = time + 1", After: "local after = time",
		Breaks: "the fraction of a score is for the order, and puts nothing off",
		Tests:  scripts("TestDueMovesAllOfAMillisecondAtItsBeginning"),
	},
	{
		Name: "due-by-id", File: "lua/prelude.lua",
		Before: "if last.id ~= '' and before(id, last.id) then", After: "if false then",
		Breaks: "jobs that are due at the same time come in the order of their enqueue",
		Tests:  scripts("TestDueKeepsTheOrderOfTheEnqueueWithinAMillisecond"),
	},
	{
		Name: "due-at-many-times-by-id", File: "lua/prelude.lua",
		Before: "local free = ascend and not seen[due]", After: "local free = not seen[due]",
		Breaks: "jobs of one call that are due at many times come in the order of the call where two are due at the " +
			"same",
		Tests: scripts("TestCallsOfJobsAtManyTimesKeepTheOrderOfTheEnqueue"),
	},
	{
		Name: "due-behind-others", File: "lua/due.lua",
		Before: "if pending[id] == nil and not asked then", After: "if false then",
		Breaks: "what is due moves also if more than a page of others have come before it",
		Tests:  unmodelled("TestDueMovesWhatWasNamedBehindAPageOfOthers"),
	},
	{
		Name: "due-any-queue", File: "lua/due.lua",
		Before: "name == wanted or", After: "true or",
		Breaks: "a job goes to its own queue, also when an older one had the same id",
		Tests:  scripts("TestDueThatComesLateDoesNotMoveAJobToTheQueueOfItsPredecessor"),
	},
	{
		Name: "due-named", File: "lua/due.lua",
		Before: "redis.call('HDEL', names, unpack(ids))",
		Breaks: "what is kept of a job on a shelf goes when it leaves the shelf",
		Tests:  scripts("TestDueMovesWhatIsDueAndSaysWhatIsNext"),
	},
	{
		Name: "due-no-token", File: "lua/due.lua",
		Before: "summon(limits, ARGV[5 + queue], KEYS[key + 1], KEYS[key + 2], KEYS[key + 3], 1)",
		Breaks: "a job that becomes due wakes those who can take it",
		Tests:  scripts("TestDueMovesWhatIsDueAndSaysWhatIsNext"),
	},
	{
		Name: "due-drops-the-nameless", File: "lua/due.lua",
		Before: "if redis.call('HEXISTS', jobs, id) == 0 then", After: "if true then",
		Breaks: "a job on a shelf is removed only if it has no record",
		Tests:  unmodelled("TestDueSkipsWhatCannotMoveAndRemovesWhatHasNoRecord"),
	},
	{
		Name: "orphan-held", File: "lua/orphan.lua",
		Before: "if redis.call('SISMEMBER', workers, worker) == 1 and redis.call('LPOS', inprocess, element) then return " +
			"" +
			"" +
			"" +
			"" +
			"" +
			"0 end",
		Breaks: "a job that a living worker holds is not given to another",
		Tests:  scripts("TestOrphanGivesBackWhatNobodyHolds"),
	},
	{
		Name: "orphan-dead", File: "lua/orphan.lua",
		Before: "if redis.call('SISMEMBER', dead, worker) == 1 then return 0 end",
		Breaks: "what a dead worker held goes back in one piece and counts as crashed",
		Tests:  scripts("TestOrphanGivesBackWhatNobodyHolds"),
	},
	{
		Name: "orphan-changed", File: "lua/orphan.lua",
		Before: "if redis.call('HGET', claimed, id) ~= claim then return 0 end",
		Breaks: "a claim that was read some time ago is looked at again before it is removed",
		Tests:  scripts("TestOrphanGivesBackWhatNobodyHolds"),
	},
	{
		Name: "suspect-of-another", File: "lua/suspect.lua",
		Before: "if not redis.call('LPOS', inprocess, ARGV[2]) then return 0 end",
		Breaks: "a suspect begins only while its claim stands",
		Tests:  scripts("TestACrashCountsAgainstWhatRan"),
	},
	{
		Name: "wake-unpaid", File: "lua/wake.lua",
		Before: "    wake(KEYS[i + 1], math.min(1, wait and (limited or ARGV[1] ~= '1') and 1 or left))\n",
		Breaks: "a token that a stopping worker took wakes somebody else",
		Tests:  scripts("TestTokensWakeAndAreGivenBack"),
	},
	{
		Name: "sweep-young", File: "lua/sweep.lua",
		Before: "'-inf', ms(now()), 'LIMIT'", After: "'-inf', '+inf', 'LIMIT'",
		Breaks: "an outcome is kept for its retention",
		Tests:  scripts("TestSweepRemovesOutcomesThatAreOver"),
	},
	{
		Name: "overdue-young", File: "internal/rdb/control_page.go",
		Before: "now.Add(-retention)", After: "now",
		Breaks: "a buried job stays for MorgueRetention",
		Tests:  scripts("TestOverdueAreTheOldestOfTheMorgue"),
	},
	{
		Name: "tokens-without-end", File: "lua/prelude.lua",
		Before: "if type(have) == 'number' and have < wanted then", After: "if type(have) == 'number' then",
		Breaks: "nothing grows without bound: a queue has two tokens at the most",
		Tests: scripts("TestFetchGivesSharesFirstAndThenFillsUp", "TestTokensWakeAndAreGivenBack",
			"TestEnqueuePutsEachJobInItsPlace"),
	},
}
