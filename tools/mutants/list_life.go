package main

var lifeScripts = []mutant{
	{
		Name: "condemn-unsteady", File: "lua/condemn.lua",
		Before: "if not since or now() - tonumber(since) < tonumber(ARGV[2]) then", After: "if not since then",
		Breaks: "a worker that was itself away judges nobody: after an outage all would look dead",
		Tests:  scripts("TestCondemnNeedsASteadyReaperAndALapsedTarget"),
	},
	{
		Name: "condemn-living", File: "lua/condemn.lua",
		Before: "if redis.call('EXISTS', target) == 1 then return 'alive' end",
		Breaks: "a worker with a heartbeat is not declared dead",
		Tests:  scripts("TestCondemnNeedsASteadyReaperAndALapsedTarget"), Quick: true,
	},
	{
		Name: "condemn-unnoted", File: "lua/condemn.lua",
		Before: "redis.call('SADD', dead, ARGV[1])",
		Breaks: "whoever likes goes on taking a dead worker apart where another stopped",
		Tests:  scripts("TestCondemnNeedsASteadyReaperAndALapsedTarget"),
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
		Before: "if redis.call('SISMEMBER', dead, worker) == 0 then redis.call('SADD', workers, worker) end",
		After:  "redis.call('SADD', workers, worker)",
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
		Before: "if redis.call('GET', epoch) ~= known then return { 'lost' } end",
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
		Before: "if leased > 0 and not holder then", After: "if leased > 0 then",
		Breaks: "one worker at a time has the lease",
		Tests:  scripts("TestBeatGivesTheLeaseToOneWorker"),
	},
	{
		Name: "forget-holding", File: "lua/forget.lua",
		Before: "if #held > 0 then return { 'holding', held } end",
		Breaks: "a worker is forgotten only once nothing is left in its lists",
		Tests:  scripts("TestForgetRemovesOnlyWhoHoldsNothing"), Quick: true,
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
		Before: "elseif redis.call('ZREM', shelf, id) == 1 then", After: "elseif redis.call('ZSCORE', shelf, id) then",
		Breaks: "a job that becomes due leaves its shelf: it is moved once, however often that is asked for",
		Tests:  scripts("TestDueMovesWhatIsDueAndSaysWhatIsNext"),
	},
	{
		Name: "due-early", File: "lua/due.lua",
		Before: "if due and tonumber(due) <= time and (", After: "if due and (",
		Breaks: "no job runs before it is due by the clock of Redis",
		Tests:  scripts("TestDueMovesWhatIsDueAndSaysWhatIsNext"),
	},
	{
		Name: "due-any-queue", File: "lua/due.lua",
		Before: "name == ARGV[4 + queue]", After: "true",
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
		Before: "wake(KEYS[at + 1], 1)", After: "local _ = wake",
		Breaks: "a job that becomes due wakes those who can take it",
		Tests:  scripts("TestDueMovesWhatIsDueAndSaysWhatIsNext"),
	},
	{
		Name: "due-drops-the-nameless", File: "lua/due.lua",
		Before: "if redis.call('HEXISTS', jobs, id) == 0 and redis.call(", After: "if redis.call(",
		Breaks: "a job on a shelf is removed only if it has no record",
		Tests:  unmodelled("TestDueSkipsWhatCannotMoveAndRemovesWhatHasNoRecord"),
	},
	{
		Name: "orphan-held", File: "lua/orphan.lua",
		Before: "if redis.call('SISMEMBER', workers, worker) == 1 and redis.call('LPOS', inprocess, element) then return 0 end",
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
		Before: " or not redis.call('LPOS', KEYS[2], ARGV[1]) then", After: " then",
		Breaks: "a suspect begins only while its claim stands",
		Tests:  scripts("TestSuspectIsNotedWhileTheClaimStands"),
	},
	{
		Name: "wake-unpaid", File: "lua/wake.lua",
		Before: "wake(KEYS[i + 1], 1)",
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
		Tests:  scripts("TestFetchGivesSharesFirstAndThenFillsUp", "TestTokensWakeAndAreGivenBack", "TestEnqueuePutsEachJobInItsPlace"),
	},
}
