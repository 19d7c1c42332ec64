package main

var enqueuers = []mutant{
	{
		Name: "wait-for-nothing", File: "internal/rdb/redigo_conn.go",
		Before: "calls[i].Command == \"WAIT\" && len(positions) > 0", After: "false",
		Breaks: "replicas that are said to have a job have it, also when its script had to be sent in full",
		Tests:  pool("TestWaitReplicasRealRedis"),
	},
	{
		Name: "blocker-on-a-broken-connection", File: "blocker.go",
		Before: "if b.conn != nil && b.conn.Broken() {", After: "if false {",
		Breaks: "a worker whose wait was ended just when a token came has no trouble to report",
		Tests:  pool("TestABlockerLeavesABrokenConnection"),
	},
	{
		Name: "resend-as-new", File: "call.go",
		Before: "reply, err := c.lanes.store.Enqueue(ctx, c.lane.id, c.lane.number, jobs)",
		After:  "c.lane.number++; reply, err := c.lanes.store.Enqueue(ctx, c.lane.id, c.lane.number, jobs)",
		Breaks: "a call that is sent again has the number of the first time, and stores its jobs once",
		Tests:  pool("TestLostReplyStoresNothingTwice", "TestLostReplyStoresNothingTwiceWhenTheJobHasRunAndGone"), Quick: true,
	},
	{
		Name: "lane-number-again", File: "lane.go",
		Before: "own.number++\n\tc := &call{lanes: l, lane: own, parcels", After: "own.number += 0\n\tc := &call{lanes: l, lane: own, parcels",
		Breaks: "each call of a lane has a number of its own: otherwise a job is acknowledged and not stored",
		Tests:  pool("TestLanesHaveOneCallUnderWayWithGrowingNumbers"),
	},
	{
		Name: "lane-number-again-in-line", File: "lane.go",
		Before: "own.number++\n\tc := &call{lanes: l, lane: own}", After: "own.number += 0\n\tc := &call{lanes: l, lane: own}",
		Breaks: "the same for callers that wait in line",
		Tests:  pool("TestLanesHaveOneCallUnderWayWithGrowingNumbers"),
	},
	{
		Name: "resend-fewer", File: "call.go",
		Before: "if first {\n\t\tc.dropLeft()", After: "if true {\n\t\tc.dropLeft()",
		Breaks: "a call that may have counted is sent again with the same jobs: the kept reply names them by number",
		Tests:  pool("TestCallKeepsThoseWhoLeftOnceItMayCount"),
	},
	{
		Name: "cut-off-nobody", File: "lane.go",
		Before: "if c := each.call; c != nil && c.cancel != nil {", After: "if c := each.call; c != nil && c.cancel == nil {",
		Breaks: "a Close that waits no longer ends the calls under way",
		Tests:  pool("TestCloseGivesUpAfterTheTimeout"),
	},
	{
		Name: "doubt-denied", File: "call.go",
		Before: "c.doubt = true", After: "c.doubt = false",
		Breaks: "who is told that a job is not stored can rely on it",
		Tests:  pool("TestCallerInLineLeavesWithoutATrace", "TestCallIsAbandonedWhenEverybodyLeft", "TestAbandonedCallThatLandsLateIsRefused"),
	},
}

var fetchers = []mutant{
	{
		Name: "begin-ahead", File: "processor.go",
		Before: "		pause(p.worker.life, time.Until(r.notBefore))\n", After: "		_ = pause\n",
		Breaks: "a job that was taken ahead of its time begins at it",
		Tests:  pool("TestAJobThatIsTakenAheadBeginsAtItsTime"),
	},
	{
		Name: "survey-skipped", File: "survey.go",
		Before: "case s.lost || time.Since(", After: "case time.Since(",
		Breaks: "what a lost fetch did is found out before the next one",
		Tests:  pool("TestAFetchThatComesLateClaimsNothing", "TestJobsOfAFetchWhoseReplyIsLostRunOnce", "TestALostFetchIsLookedIntoBeforeTheNext"),
	},
	{
		Name: "survey-of-the-held", File: "survey.go",
		Before: "if !c.holds(claim.Element) {", After: "if true {",
		Breaks: "a job that the worker runs is not given to another",
		Tests:  pool("TestALostFetchIsLookedIntoBeforeTheNext"),
	},
	{
		Name: "fetch-all-again", File: "fetcher.go",
		Before: "f.limit = max(minFetchLimit, min(f.limit, wanted)/2)", After: "f.limit = f.worker.concurrency",
		Breaks: "a batch that is too big for the link does not come back for ever",
		Tests:  pool("TestALostFetchIsLookedIntoBeforeTheNext"),
	},
	{
		Name: "stale-for-ever", File: "survey.go",
		Before: "c.number += 1 << 32\n\t\treturn errors.New(\"the number of a survey", After: "return errors.New(\"the number of a survey",
		Breaks: "a worker whose numbers are behind those in Redis jumps over them",
		Tests:  pool("TestAWorkerWhoseNumbersAreBehindGoesOn"),
	},
	{
		Name: "fetch-unheld", File: "fetcher.go",
		Before: "\tc.hold(fit)\n", After: "\t_ = c.hold\n",
		Breaks: "the worker knows what it holds, and gives none of it back while it runs",
		Tests:  pool("TestALostFetchIsLookedIntoBeforeTheNext", "TestWhatDidNotBeginGoesBackInOrder"),
	},
	{
		Name: "fetch-without-end", File: "fetcher.go",
		Before: "\tw.slots.hold(len(fit))\n", After: "",
		Breaks: "outcomes that Redis does not acknowledge are bounded in memory: fetching stops",
		Tests:  pool("TestFetchingStopsWhileRedisAcknowledgesNothing"),
	},
	{
		Name: "poison-for-ever", File: "worker.go",
		Before: "if !crashes.damning(w.pool.options.MaxCrashes) {", After: "if true {",
		Breaks: "a job that MaxCrashes workers died with is buried",
		Tests:  pool("TestAJobThatWorkersDieWithIsBuried"),
	},
	{
		Name: "luck-ignored", File: "crash_record.go",
		Before: "chanceOf(n, r.expected()) < badLuck", After: "true",
		Breaks: "a job that meets deaths by chance is not buried for them",
		Tests:  pool("TestInnocentJobsOutliveKills", "TestWhatIsReadOfCrashes"),
	},
	{
		Name: "fence-asleep", File: "run_context.go",
		Before: "c.fence.isDown() //", After: "//",
		Breaks: "what runs in a process that was paused sees at once that others may have its job",
		Tests:  pool("TestAFenceFallsForWhoAsksAfterAPause"),
	},
	{
		Name: "suspects-at-once", File: "suspect.go",
		Before: "return !w.pool.suspect.CompareAndSwap(nil, r)", After: "return false",
		Breaks: "a program runs one suspect at a time",
		Tests:  pool("TestOneSuspectAtATimeIsNamedBeforeItBegins"),
	},
	{
		Name: "suspect-unnamed", File: "suspect.go",
		Before: "if err == nil && named {", After: "if _ = named; err == nil {",
		Breaks: "a suspect that could not be named in Redis does not begin",
		Tests:  pool("TestASuspectThatCannotBeNamedDoesNotBegin"),
	},
}

var settlers = []mutant{
	{
		Name: "outcome-dropped", File: "settler.go",
		Before: "s.lap++", After: "s.lap++; s.pending = nil",
		Breaks: "an outcome is sent until it is acknowledged",
		Tests:  pool("TestAnOutcomeWhoseReplyWasLostCountsOnce", "TestAnOutcomeThatIsTurnedAwayIsSentAgain"),
	},
	{
		Name: "outcome-for-ever", File: "settler.go",
		Before: "\ts.forget()\n", After: "",
		Breaks: "an outcome that was acknowledged is not sent again",
		Tests:  pool("TestAnOutcomeWhoseReplyWasLostCountsOnce"),
	},
	{
		Name: "gone-after-no-answer", File: "verdict.go",
		Before: "if r.verdict = rdb.VerdictTaken; r.sent {", After: "if r.verdict = rdb.VerdictTaken; false {",
		Breaks: "a claim that is gone after an unanswered settlement counts as settled",
		Tests:  pool("TestAnOutcomeWhoseReplyWasLostCountsOnce"),
	},
	{
		Name: "gone-taken-for-settled", File: "verdict.go",
		Before: "r.verdict = verdicts[i]", After: "_, _ = verdicts, i; r.verdict = rdb.VerdictCounted",
		Breaks: "an outcome that was sent into a black hole is not told, counted and hooked as if Redis had taken it",
		Tests:  pool("TestOutcomesThatRedisNeverGotAreNotToldAsIfTheyCounted", "TestOutcomesOfWhichNobodyKnowsAreToldAsSuch"),
	},
	{
		Name: "trust-for-ever", File: "survey.go",
		Before: "case t.gone.Swap(false):", After: "case false:",
		Breaks: "after a lost connection it is asked about all names what Redis thinks the worker holds",
		Tests:  pool("TestAClaimThatCameBackIsFoundAfterALostConnection", "TestAReplicaThatTakesOverWedgesNothingRealRedis"),
	},
	{
		Name: "survey-without-rounds", File: "survey.go",
		Before: "case due:", After: "case false:",
		Breaks: "it is asked about all names in turn, whatever is known of them",
		Tests:  pool("TestAClaimThatCameBackIsFoundInTurn"),
	},
	{
		Name: "gone-untold", File: "settler.go",
		Before: "case slices.Contains(answer.Gone, r.claim.Element):", After: "case false:",
		Breaks: "an outcome that did not count is told",
		Tests:  pool("TestAnOutcomeWhoseClaimIsGoneDoesNotCount"),
	},
	{
		Name: "batch-whole", File: "settler.go",
		Before: "r.lot = max(1, len(b.runs)/2)", After: "r.lot = len(b.runs)",
		Breaks: "an outcome that is refused holds up no other one",
		Tests:  pool("TestABrokenKeyParksOnlyWhatNeedsIt"),
	},
	{
		Name: "parked-and-lost", File: "settler.go",
		Before: "s.parked = append(s.parked, r)",
		Breaks: "an outcome that is refused is tried again",
		Tests:  pool("TestABrokenKeyParksOnlyWhatNeedsIt"),
	},
	{
		Name: "slot-kept", File: "settler.go",
		Before: "s.worker.slots.settled(len(acknowledged) - dying)", After: "_ = dying",
		Breaks: "a worker goes on fetching as outcomes are acknowledged",
		Tests:  pool("TestFetchingStopsWhileRedisAcknowledgesNothing"),
	},
	{
		Name: "held-for-ever", File: "settler.go",
		Before: "b.claimant.drop(acknowledged)",
		Breaks: "a worker forgets what was acknowledged",
		Tests:  pool("TestACheckinIsVisibleWithinASecondAndGoneAfterTheJob"),
	},
	{
		Name: "suspect-for-ever", File: "settler.go",
		Before: "s.worker.acquit(r)",
		Breaks: "the next suspect has its turn when the one before has ended",
		Tests:  pool("TestOneSuspectAtATimeIsNamedBeforeItBegins"),
	},
	{
		Name: "release-before-the-older", File: "settlement.go",
		Before: "Ended: first.begun.Load() != 0, Older: older})", After: "Ended: first.begun.Load() != 0, Older: older[:0]})",
		Breaks: "what is given back in several calls keeps its order",
		Tests:  pool("TestAStopKeepsTheOrder"),
	},
	{
		Name: "reap-in-any-order", File: "estate.go",
		Before: "return cmp.Or(b.Fetched.Compare(other.Fetched), cmp.Compare(b.Number, other.Number))", After: "_ = cmp.Compare[int]; return 0",
		Breaks: "what several dead workers held goes back in the order in which it was fetched",
		Tests:  pool("TestJobsOfSeveralDeadWorkersComeBackInTheOrderOfTheirFetches"),
	},
	{
		Name: "doctor-believes-lists", File: "doctor_held.go",
		Before: "return elements[h.Element()] })", After: "return elements[h.Element()] || true })",
		Breaks: "a claim that its worker does not hold is found",
		Tests:  pool("TestDoctorAsksWorkersWhatTheyHold"),
	},
	{
		Name: "release-all-as-begun", File: "settlement.go",
		Before: "key.queue, key.begun = r.claim.Queue, r.begun.Load() != 0", After: "key.queue = r.claim.Queue",
		Breaks: "a job that did not begin is not cleared of its crashes by one that did",
		Tests:  pool("TestReleasesOfManyCallsKeepTheirOrder"),
	},
	{
		Name: "put-off-and-cleared", File: "settlement.go",
		Before: "KeepCrashes: first.decision.keepCrashes,",
		Breaks: "a suspect that is put off stays one",
		Tests:  pool("TestOneSuspectAtATimeIsNamedBeforeItBegins"),
	},
}
