package main

// flowing are tests of package flow: the model of flows, and others.
func flowing(names ...string) []tests {
	return []tests{{"./flow", append(names, "TestFlowsDoWhatTheRulesSay")}}
}

// flowScripts break what flows promise.
var flowScripts = []mutant{
	{
		Name: "flow-end-twice", File: "lua/prelude.lua",
		Before: "  if n == 0 then return fresh end\n",
		After:  "",
		Breaks: "an end counts once",
		Tests:  unmodelled("TestTheEndOfOneThatIsNotLeftDoesNotCount"),
	},
	{
		Name: "flow-early", File: "lua/prelude.lua",
		Before: "(f.waits == 0 or redis.call('ZLEXCOUNT', f.unmet, '[' .. to .. '\\n', '(' .. to .. '\\11') == 0) then",
		After:  "true then",
		Breaks: "a member waits for all that it names",
		Tests:  flowing("TestAJobRunsWhenAllThatItWaitsForAreDone"),
	},
	{
		Name: "flow-even", File: "lua/prelude.lua",
		Before: "if how == 'done' or rule == 'even' and not f.cancel then", After: "if how == 'done' then",
		Breaks: "a member may run even if another is dead",
		Tests:  flowing("TestWhatBecomesOfThoseThatWaitForAJobThatDoesNotEndWell"),
	},
	{
		Name: "flow-hold", File: "lua/prelude.lua",
		Before: "elseif rule ~= 'hold' or how ~= 'dead' or f.cancel then",
		After:  "else",
		Breaks: "a member may hold on for one that is dead",
		Tests:  flowing("TestAJobThatHoldsWaitsUntilTheOtherIsRetried"),
	},
	{
		Name: "flow-cascade", File: "lua/prelude.lua",
		Before: "  redis.call('ZADD', f.ends, 2, name)\n" +
			"  work[#work + 1] = 'ecancelled\\n' .. name .. '\\n'\n  if #kept",
		After:  "  redis.call('ZADD', f.ends, 2, name)\n  if #kept",
		Breaks: "who waits for a cancelled member is cancelled too",
		Tests:  flowing("TestWhatBecomesOfThoseThatWaitForAJobThatDoesNotEndWell"),
	},
	{
		Name: "flow-dropped", File: "lua/prelude.lua",
		Before: "redis.call('RPUSH', f.todo, unpack(work, i, math.min(i + 499, #work)))",
		Breaks: "what a script could not do is done later",
		Tests:  flowing(),
	},
	{
		Name: "flow-record", File: "lua/prelude.lua",
		Before: "  if #kept > 0 then redis.call('HSET', f.records, unpack(kept)) end\n",
		Breaks: "a member that has not ended well can be retried with its flow",
		Tests:  flowing(),
	},
	{
		Name: "flow-late-cancel", File: "lua/prelude.lua",
		Before: "  if f.cancel or living and living ~= (special", After: "  if living and living ~= (special",
		Breaks: "no member of a cancelled flow begins",
		Tests:  flowing("TestNoMemberOfACancelledFlowBegins"),
	},
	{
		Name: "flow-batch-twice", File: "lua/flow/store.lua",
		Before: "shared and redis.call('SMISMEMBER', f.left, unpack(ARGV, last + 1, last + many))",
		After:  "false",
		Breaks: "a member of a batch is stored once",
		Tests:  unmodelled("TestAMemberOfABatchIsStoredOnceHoweverItsPartsAreCut"),
	},
	{
		Name: "flow-moved", File: "internal/resize/leavers.go",
		Before: "return err == nil && rec.Member() != \"\"", After: "return err != nil && rec.Member() != \"\"",
		Breaks: "members stay where their flow is",
		Tests:  []tests{{"./internal/enginetest/partitions", []string{"TestALimitLeavesMembersWhereTheirFlowsAre"}}},
	},
	{
		Name: "flow-unrouted", File: "lua/flow/store.lua",
		Before: "if route then return route end\n",
		Breaks: "a flow is stored by the newest map",
		Tests:  unmodelled("TestANewFlowIsStoredByTheNewestMap"),
	},
	{
		Name: "flow-several", File: "lua/prelude.lua",
		Before: "  for _, f in ipairs(flows) do\n    local names, hows",
		After:  "  for _, f in ipairs({ flows[1] }) do\n    local names, hows",
		Breaks: "members of several flows end by one call",
		Tests:  unmodelled("TestMembersOfSeveralFlowsEndByOneCall"),
	},
	{
		Name: "flow-untold", File: "lua/prelude.lua",
		Before: "for _, f in ipairs(flows) do answer[#answer + 1] = f.told end",
		After:  "",
		Breaks: "who ends a flow is told of it",
		Tests:  flowing("TestTheEndOfAFlowIsToldByTheWorkerThatEndsIt"),
	},
	{
		Name: "flow-end-runs", File: "lua/prelude.lua",
		Before: "if redis.call('HGET', f.jobs, id) ~= record then",
		After:  "if true then",
		Breaks: "what runs at the end is not stored again while it runs",
		Tests:  []tests{{"./internal/enginetest/loss", []string{"TestAFailoverThatForgetsTheEndOfAFlow"}}},
	},
	{
		Name: "flow-added-twice", File: "lua/flow/add.lua",
		Before: "if redis.call('HEXISTS', f.members, name) == 1 then return 'running' end\n",
		After:  "",
		Breaks: "an addition whose reply was lost is known again",
		Tests:  flowing("TestAMemberAddsOthersOnceWhateverItsAttempts"),
	},
	{
		Name: "flow-ended-waits", File: "lua/prelude.lua",
		Before: "if kept[i] and left[i] == 1 and not f.freed[name] then",
		After:  "if kept[i] and not f.freed[name] then",
		Breaks: "a member that has ended does not run once more, though a failover has forgotten that it had begun",
		Tests: []tests{{"./internal/enginetest/loss", []string{"TestAFailoverInWhichAMemberWaitsThatRuns"}},
			{"./flow", []string{"TestFlowsDoWhatTheRulesSay"}}},
	},
	{
		Name: "flow-seal-count", File: "lua/flow/seal.lua",
		Before: "if have ~= tonumber(count) then return 'count ' .. have end",
		Breaks: "a flow is sealed with all of its members",
		Tests:  flowing("TestASealOfAnotherNumberOfMembersIsRefused"),
	},
	{
		Name: "flow-reopen-even", File: "lua/flow/reopen.lua",
		Before: "    redis.call('ZADD', f.unmet, 0, to .. '\\n' .. from)",
		Breaks: "a retried member waits again for those before it",
		Tests:  flowing(),
	},
	{
		Name: "flow-reopen-early", File: "lua/flow/reopen.lua",
		Before: "if state ~= 'reopening' and (step ~= 'begin' or state ~= 'dead' and state ~= 'cancelled') then " +
			"return state end",
		Breaks: "a flow that runs is not opened again",
		Tests:  flowing("TestAFlowThatRunsIsNotOpenedAgain"),
	},
	{
		Name: "flow-turn-early", File: "lua/flow/turn.lua",
		Before: "and left and not waits and not f.cancel", After: "and left and not f.cancel",
		Breaks: "a flow in a flow begins when its turn has come",
		Tests:  []tests{{"./flow", []string{"TestAFlowThatIsNotSealedIsRemovedWithThoseInIt"}}},
	},
	{
		Name: "flow-turn-untold", File: "lua/flow/turn.lua",
		Before: "if not ended or left and waits then return state .. told end", After: "do return state .. told end",
		Breaks: "a flow learns that one in it has ended",
		Tests:  []tests{{"./flow", []string{"TestAFlowInAFlowIsCancelledBeforeItsTurn"}}},
	},
	{
		Name: "flow-turn-cancelled", File: "lua/flow/turn.lua",
		Before: "elseif not counts or outer ~= 'reopening' and (not left or order == '1' or not waits) then",
		After:  "elseif order == '1' then",
		Breaks: "a flow that is cancelled before its turn is over",
		Tests:  []tests{{"./flow", []string{"TestAFlowInAFlowIsCancelledWithWhatItWaitsFor"}}},
	},
	{
		Name: "flow-turn-paused", File: "lua/flow/turn.lua",
		Before: "    if f.paused then redis.call('HSET', inner, 'paused', '1') end\n",
		Breaks: "a flow in a paused flow begins paused",
		Tests:  []tests{{"./flow", []string{"TestAFlowInAPausedFlowBeginsPaused"}}},
	},
	{
		Name: "flow-inner-forgotten", File: "lua/flow/advance.lua",
		Before: "if not ARGV[1]:find('/', 1, true) then redis.call('ZREM', f.busy, ARGV[1]) end",
		After:  "redis.call('ZREM', f.busy, ARGV[1])",
		Breaks: "the end of a flow in a flow is told",
		Tests:  []tests{{"./internal/rdb", []string{"TestAStepOfAFlowThatIsHeldForgetsNothing"}}},
	},
	{
		Name: "flow-inner-orphan", File: "lua/flow/store.lua",
		Before: "or outer and not state and redis.call('HGET', outer, 'state') ~= 'filling' then", After: "then",
		Breaks: "no flow is stored into one that is not being stored",
		Tests:  []tests{{"./internal/rdb", []string{"TestAFlowIsStoredIntoOneThatIsBeingStored"}}},
	},
	{
		Name: "flow-inner-left-behind", File: "lua/flow/remove.lua",
		Before: "if (inner or special or away) and ARGV[3] ~= '1' then", After: "if false then",
		Breaks: "flows in a flow are removed with it",
		Tests:  []tests{{"./flow", []string{"TestFlowsInAFlowAreRemovedWithIt"}}},
	},
	{
		Name: "flow-away-late-order", File: "lua/flow/order.lua",
		Before: "local obeys = made == of[1] and tonumber(generation) >= tonumber(of[2])", After: "local obeys = true",
		Breaks: "an order that comes late changes nothing",
		Tests:  []tests{{"./internal/rdb", []string{"TestALodgedMemberObeysItsOwnGeneration"}}},
	},
	{
		Name: "flow-away-other-end", File: "lua/flow/order.lua",
		Before: "is_over() and ending() == ARGV[5] then", After: "is_over() then",
		Breaks: "a member whose flow has counted its death tells that it is done, if it was retried meanwhile",
		Tests:  []tests{{"./internal/rdb", []string{"TestALodgedMemberIsToldOfTheEndThatItHas"}}},
	},
	{
		Name: "flow-away-late-report", File: "lua/flow/agree.lua",
		Before: "local goes, mine = outer == 'running' or outer == 'held', state == 'gone' or of == generation",
		After:  "local goes, mine = outer == 'running' or outer == 'held', true",
		Breaks: "the end of a member in a former generation does not count",
		Tests:  []tests{{"./internal/rdb", []string{"TestAFlowCountsTheEndOfAMemberElsewhereOnce"}}},
	},
}

// flowRules break rules of which each has a test of its own.
var flowRules = []mutant{
	{
		Name: "flow-key-place-kept", File: "lua/flow/reopen.lua",
		Before: "    if known then vacate(",
		After:  "    if false then vacate(",
		Breaks: "a member that is retried gives the place of its key back",
		Tests:  []tests{{"./flow", []string{"TestARetriedMemberGivesThePlaceOfItsKeyBack"}}},
	},
	{
		Name: "flow-freed-lock-kept", File: "lua/prelude.lua",
		Before: "    if special then flow_unlock(f, work, name, queue .. '\\n' .. record) end\n",
		Breaks: "a member that is cancelled instead of running gives its lock back",
		Tests:  []tests{{"./flow", []string{"TestAMemberThatIsCancelledInsteadOfRunningGivesItsLockBack"}}},
	},
	{
		Name: "flow-old-death", File: "lua/prelude.lua",
		Before: "  if how == 'dead' and redis.call('ZSCORE', f.ends, from) ~= '1' then return 0 end",
		Breaks: "a death that was made good cancels nobody",
		Tests:  []tests{{"./flow", []string{"TestADeathThatWasMadeGoodBeforeAnybodyLookedCancelsNobody"}}},
	},
	{
		Name: "flow-lost-alone", File: "lua/prelude.lua",
		Before: "(f.lost == 0 or redis.call('ZCARD', f.ends) == 0)",
		After:  "f.lost == 0",
		Breaks: "a flow is done whose dead member is done by the last call",
		Tests:  []tests{{"./flow", []string{"TestAFlowIsDoneWhoseDeadMemberIsDoneByTheLastCall"}}},
	},
	{
		Name: "flow-lock-anew", File: "lua/prelude.lua",
		Before: "  if stands and kind == 't' then return end",
		Breaks: "a lock for a time counts from the first store of its flow",
		Tests:  []tests{{"./flow", []string{"TestTimesOfAFlowCountFromWhenItWasStoredFirst"}}},
	},
	{
		Name: "flow-delay-anew", File: "lua/flow/store.lua",
		Before: "(due or ms(time + delay))",
		After:  "ms(time + delay)",
		Breaks: "a delay counts from the first store of its flow",
		Tests:  []tests{{"./flow", []string{"TestTimesOfAFlowCountFromWhenItWasStoredFirst"}}},
	},
	{
		Name: "flow-added-behind-a-bad-end", File: "lua/flow/add.lua",
		Before: "  cancelled = cancelled or ended\n",
		Breaks: "an added member behind one that ended badly is cancelled",
		Tests:  []tests{{"./flow", []string{"TestAnAddedMemberBehindOneThatEndedBadlyIsCancelled"}}},
	},
	{
		Name: "flow-added-under-cancel", File: "lua/flow/add.lua",
		Before: "or f.cancel or",
		After:  "or",
		Breaks: "nothing is added to a flow that is being cancelled",
		Tests:  []tests{{"./flow", []string{"TestNothingIsAddedToAFlowThatIsBeingCancelled"}}},
	},
	{
		Name: "flow-half-cancelled", File: "lua/prelude.lua",
		Before: "  left = left or f.state == 'running' and f.cancel == '1'",
		Breaks: "a flow is cancelled to its end, whoever dies",
		Tests:  []tests{{"./flow", []string{"TestAFlowIsCancelledToItsEndAlthoughItsProgramDies"}}},
	},
	{
		Name: "flow-reopening-removed", File: "lua/flow/remove.lua",
		Before: "  if age < 0 and state == 'reopening' then return 0 end\n",
		Breaks: "a flow that is being retried is not removed",
		Tests:  []tests{{"./flow", []string{"TestAFlowThatIsBeingRetriedIsNotRemoved"}}},
	},
	{
		Name: "flow-id-of-another", File: "lua/prelude.lua",
		Before: "or living and living ~= (special and record:match('\\n(.*)$') or record) then",
		After:  "then",
		Breaks: "a member whose id somebody else uses is cancelled",
		Tests:  []tests{{"./flow", []string{"TestAMemberWhoseIDSomebodyElseUsesIsCancelled"}}},
	},
	{
		Name: "flow-queue-unknown", File: "lua/prelude.lua",
		Before: "      if redis.call('ZADD', f.queues, 'NX', ms(now()), queue) == 1 and queue:find(",
		After:  "      if queue:find(",
		Breaks: "a queue of members alone is known",
		Tests:  []tests{{"./flow", []string{"TestAQueueOfMembersAloneIsKnown"}}},
	},
	{
		Name: "flow-queue-of-turns-unknown", File: "lua/flow/advance.lua",
		Before: "      know_queue(queue)\n      redis",
		After:  "      redis",
		Breaks: "a queue of members that wait by turns is known",
		Tests:  []tests{{"./flow", []string{"TestAQueueOfMembersAloneIsKnown"}}},
	},
	{
		Name: "flow-queue-of-later-unknown", File: "lua/flow/advance.lua",
		Before: "      know_queue(queue)\n      low",
		After:  "      low",
		Breaks: "a queue of members that wait for their time is known",
		Tests:  []tests{{"./flow", []string{"TestAQueueOfMembersAloneIsKnown"}}},
	},
	{
		Name: "flow-lost-member", File: "lua/flow/reopen.lua",
		Before: "  elseif redis.call('HEXISTS', f.records, name) == 0 and not record then",
		After:  "  elseif false then",
		Breaks: "nobody waits for a member of which nothing is left",
		Tests:  []tests{{"./flow", []string{"TestAFlowIsRetriedWithoutAMemberOfWhichNothingIsLeft"}}},
	},
}
