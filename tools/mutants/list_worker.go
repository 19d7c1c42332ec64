package main

var lives = []mutant{
	{
		Name: "fenced-and-silent", File: "worker.go",
		Before: "old.cancel(ErrFenced)\n\ttime.AfterFunc(", After: "time.AfterFunc(",
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
		Name: "restore-the-known", File: "lua/restore.lua",
		Before: "if redis.call('HEXISTS', jobs, id) == 0 and redis.call('HEXISTS', claimed, id) == 0 then", After: "do",
		Breaks: "a job that Redis still knows is not stored again",
		Tests:  pool("TestWhatRedisStillKnowsIsNotRestored"),
	},
	{
		Name: "reap-after-one-look", File: "dead_pool_reaper.go",
		Before: "if time.Since(since) < lookInterval {", After: "if false {",
		Breaks: "one look without a heartbeat condemns nobody",
		Tests:  pool("TestAWorkerIsNotCondemnedAfterOneLook"),
	},
	{
		Name: "reap-unsteady", File: "dead_pool_reaper.go",
		Before: "Condemn(ctx, id, steadyFor)", After: "Condemn(ctx, id, 0)",
		Breaks: "a worker that was itself away judges nobody",
		Tests:  pool("TestAReaperThatWasAwayItselfIsNoJudge"),
	},
	{
		Name: "reap-uncounted", File: "dead_pool_reaper.go",
		Before: "Elements: elements, Died: died})", After: `Elements: elements, Died: ""})`,
		Breaks: "a job that its worker died with is noted as crashed",
		Tests:  pool("TestManyReapersAtOncePutEachJobBackOnce"),
	},
	{
		Name: "reap-later", File: "dead_pool_reaper.go",
		Before: "d.dead = append(d.dead, id)",
		Breaks: "the jobs of a worker that was killed start elsewhere within 6 s",
		Tests:  pool("TestTheLookThatFindsAWorkerDeadPutsItsJobsBack"),
	},
	{
		Name: "reap-ends-at-the-first", File: "dead_pool_reaper.go",
		Before: "left, failed = append(left, id), errors.Join(failed, fmt.Errorf(\"dead worker %s: %w\", id, err))", After: "return fmt.Errorf(\"dead worker %s: %w\", id, err)",
		Breaks: "a dead worker that cannot be taken apart does not keep the others from it",
		Tests:  pool("TestADeadWorkerWithABrokenQueueDoesNotKeepOthersFromBeingReaped"),
	},
	{
		Name: "due-blocked", File: "scheduler.go",
		Before: "due, err := d.turn(ctx, rdb.DueCall{Move: page, Skip: skip, Ahead: d.look})", After: "due, err := d.turn(ctx, rdb.DueCall{Move: page, Skip: 0, Ahead: d.look})",
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
		Name: "stop-token-kept", File: "worker_stop.go",
		Before: "return w.store.Wake(ctx, names)", After: "return nil",
		Breaks: "a token that comes during a stop is passed on",
		Tests:  pool("TestATokenThatComesDuringAStopIsPassedOn"),
	},
}
