package main

var lives = []mutant{
	{
		Name: "fenced-and-silent", File: "worker.go",
		Before: "old.end(ErrFenced)\n\tw.absolve(ctx, old)\n", After: "w.absolve(ctx, old)\n",
		Breaks: "the ctx of a job that others have ends with ErrFenced",
		Tests:  pool("TestAFencedWorkerGoesOnUnderANewID"),
	},
	{
		Name: "fenced-unnoted", File: "worker.go",
		Before: "w.register(ctx, next, old.rdb.ID)", After: `w.register(ctx, next, "")`,
		Breaks: "what a worker held under the id that it lost goes back at once",
		Tests:  pool("TestAFencedWorkerGoesOnUnderANewID"),
	},
	{
		Name: "fenced-ignored", File: "heartbeater.go",
		Before: "return h.worker.rejoin(c)", After: "return nil",
		Breaks: "a worker that was declared dead goes on under a new id",
		Tests:  pool("TestAFencedWorkerGoesOnUnderANewID"),
	},
	{
		Name: "data-lost-as-death", File: "heartbeater.go",
		Before: "return h.worker.reregister(ctx, c)", After: "return h.worker.rejoin(c)",
		Breaks: "a Redis that loses its data ends no healthy job",
		Tests:  pool("TestJobsRunOnWhenRedisLosesItsData"),
	},
	{
		Name: "restore-the-known", File: "lua/job/restore.lua",
		Before: "if redis.call('HEXISTS', jobs, id) == 0 and redis.call('HEXISTS', claimed, id) == 0 then", After: "do",
		Breaks: "a job that Redis still knows is not stored again",
		Tests:  pool("TestWhatRedisStillKnowsIsNotRestored"),
	},
	{
		Name: "reap-after-one-look", File: "dead_pool_reaper.go",
		Before: "if now.Sub(since) >= lookInterval {", After: "if true {",
		Breaks: "one look without a heartbeat condemns nobody",
		Tests:  pool("TestAWorkerIsNotCondemnedAfterOneLook"),
	},
	{
		Name: "reap-uncounted", File: "estate.go",
		Before: "Elements: elements, Died: of.ID,", After: `Elements: elements, Died: "",`,
		Breaks: "a job that its worker died with is noted as crashed",
		Tests:  pool("TestManyReapersAtOncePutEachJobBackOnce"),
	},
	{
		Name: "reap-later", File: "dead_pool_reaper.go",
		Before: "if found == 0 && late.Dead == 0 {", After: "if late.Dead == 0 {",
		Breaks: "the jobs of a worker that was killed start elsewhere within 6 s",
		Tests:  pool("TestTheLookThatFindsAWorkerDeadPutsItsJobsBack"),
	},
	{
		Name: "reap-ends-at-the-first", File: "estate.go",
		Before: "left, err = append(left, c.ID), excerpt.Join(err, fmt.Errorf(\"dead worker %s: %w\", c.ID, c.err))",
		After:  "return append(left, c.ID), fmt.Errorf(\"%w\", c.err)",
		Breaks: "a dead worker that cannot be taken apart does not keep the others from it",
		Tests:  pool("TestADeadWorkerWithABrokenQueueDoesNotKeepOthersFromBeingReaped"),
	},
	{
		Name: "reap-by-all", File: "daemons.go",
		Before: "d.reaper.told(p.Leased || p.Deputy)", After: "d.reaper.told(true)",
		Breaks: "two workers look after all others, and no more",
		Tests:  pool("TestTwoWorkersLookAfterTheOthers"),
	},
	{
		Name: "reap-unlisted", File: "dead_pool_reaper.go",
		Before: "suspects = append(suspects, unlisted...)", After: "_ = unlisted",
		Breaks: "workers of a version that writes no deadline are reaped too",
		Tests:  pool("TestWorkersThatWriteNoDeadlineAreReaped"),
	},
	{
		Name: "wait-anew", File: "blocker.go",
		Before: "len(b.queues) > fewNames && pauses > rdb.ShortestBlock", After: "false",
		Breaks: "a pool of many names that is called again and again does not wait for all of them each time",
		Tests:  pool("TestCallsInAPoolOfManyNamesCostLittle"),
	},
	{
		Name: "due-blocked", File: "scheduler.go",
		Before: "rdb.DueCall{Move: page, Skip: skip, Ahead: d.look, Brief: true}",
		After:  "rdb.DueCall{Move: page, Skip: 0, Ahead: d.look, Brief: true}",
		Breaks: "jobs that cannot be moved are passed by, however many they are",
		Tests:  pool("TestWhatCannotBeMovedIsPassedByAndReportedOnce"),
	},
	{
		Name: "due-late", File: "scheduler.go",
		Before: "if in <= d.look {", After: "if false {",
		Breaks: "a job runs when it is due",
		Tests:  pool("TestAHintMakesAJobPunctualThatIsDueBeforeTheNextHeartbeat", "TestALostHintCostsAtMostAHeartbeat"),
	},
}

var stops = []mutant{
	{
		Name: "stop-keeps-unbegun", File: "worker_stop.go",
		Before: "w.returnUnbegun(cut)", After: "_ = w.returnUnbegun",
		Breaks: "what a stop finds not begun goes back at once, and does not wait for what runs",
		Tests:  pool("TestWhatDidNotBeginDoesNotWaitForWhatRuns"),
	},
	{
		Name: "stop-keeps-stuck", File: "worker_stop.go",
		Before: "result.Stuck = w.abandon()", After: "_ = w.abandon",
		Breaks: "what a stop leaves running is given back and named",
		Tests:  pool("TestAHandlerThatIgnoresItsCtxIsStuckAndItsJobRunsElsewhere"),
	},
	{
		Name: "stop-unsettled", File: "worker_stop.go",
		Before: "result.note(w.awaitSettled(cut))", After: "_ = w.awaitSettled",
		Breaks: "a stop waits for the acknowledgement of what is done: otherwise it runs again",
		Tests:  pool("TestAStopWaitsForTheAcknowledgementOfOutcomes"),
	},
	{
		Name: "stop-stays", File: "worker_stop.go",
		Before: "result.note(w.leave(cut))", After: "_ = w.leave",
		Breaks: "a worker that stopped leaves nothing of itself in Redis",
		Tests:  pool("TestStopWaitsForRunningJobs"),
	},
	{
		Name: "history-all-names", File: "history_pace.go",
		Before: "for int64(names) > period*namesPerSecond {", After: "for false {",
		Breaks: "history costs no more in a second where there are more names",
		Tests:  pool("TestHistoryCostsTheSameHoweverManyNamesThereAre"),
	},
	{
		Name: "stop-token-kept", File: "worker_stop.go",
		Before: "return w.store.Wake(ctx, w.duties.listed())", After: "return nil",
		Breaks: "a token that comes during a stop is passed on",
		Tests:  pool("TestATokenThatComesDuringAStopIsPassedOn"),
	},
}
