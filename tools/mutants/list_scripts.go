package main

var enqueueScripts = []mutant{
	{
		Name: "enqueue-again", File: "lua/job/enqueue.lua",
		Before: "if n == number then return last:sub(#n + 2) end", After: "",
		Breaks: "a call that is sent twice stores its jobs once",
		Tests:  scripts("TestEnqueueSentAgainAnswersTheSameAndStoresNothing"), Quick: true,
	},
	{
		Name: "enqueue-stale", File: "lua/job/enqueue.lua",
		Before: "if tonumber(n) > tonumber(number) then return redis.error_reply('STALE lane ' .. lane .. ' is at " +
			"call ' .. n) end",
		Breaks: "a call that was given up cannot land after a newer one",
		Tests:  scripts("TestEnqueueThatCameAfterANewerIsRefused"),
	},
	{
		Name: "enqueue-reply-lost", File: "lua/job/enqueue.lua",
		Before: "number .. ' ' .. reply)", After: "number .. ' ' .. stamp)",
		Breaks: "a call that is sent twice answers the same both times",
		Tests:  scripts("TestEnqueueOfOneQueue"),
	},
	{
		Name: "enqueue-duplicate", File: "lua/job/enqueue_mixed.lua",
		Before: "if mine and lives(id) then return 'duplicate' end",
		Breaks: "an id that the caller chose stands for one job as long as that lives",
		Tests:  scripts("TestEnqueueRefusesAChosenIDThatLives"),
	},
	{
		Name: "enqueue-no-token", File: "lua/job/enqueue.lua",
		Before: "summon(KEYS[5], ARGV[3], KEYS[7], KEYS[8], KEYS[9], 1)",
		Breaks: "a worker that waits is woken by a new job",
		Tests:  scripts("TestEnqueueOfOneQueue"),
	},
	{
		Name: "enqueue-not-ready", File: "lua/job/enqueue.lua",
		Before: "redis.call('SADD', KEYS[4], ARGV[3])",
		Breaks: "every queue with jobs is among the ready ones",
		Tests:  scripts("TestEnqueueOfOneQueue"),
	},
	{
		Name: "enqueue-former-outcome", File: "lua/job/enqueue_mixed.lua",
		Before: "if #chosen > 0 and redis.call('HDEL', outcomes, unpack(chosen)) > 0 then redis.call('ZREM', expiry, " +
			"unpack(chosen)) end",
		Breaks: "an id that is chosen again has no former result",
		Tests:  scripts(),
	},
	{
		Name: "enqueue-mixed-again", File: "lua/prelude.lua",
		Before: "if n == number then return last:sub(#n + 2) end", After: "",
		Breaks: "a call that is sent twice stores its jobs once, of whatever kind they are",
		Tests:  scripts("TestEnqueueSentAgainAnswersTheSameAndStoresNothing"),
	},
	{
		Name: "enqueue-mixed-stale", File: "lua/prelude.lua",
		Before: "if n and tonumber(n) > tonumber(number) then",
		After:  "if false then",
		Breaks: "a call that was given up cannot land after a newer one, of whatever kind its jobs are",
		Tests:  scripts("TestEnqueueThatCameAfterANewerIsRefused"),
	},
	{
		Name: "enqueue-rewound", File: "lua/job/enqueue.lua",
		Before: "if known ~= '' and known ~= n then", After: "if false then",
		Breaks: "a call says that calls of its lane before it were lost",
		Tests:  scripts("TestALaneThatWentBackIsNoticed"),
	},
	{
		Name: "enqueue-mixed-rewound", File: "lua/job/enqueue_mixed.lua",
		Before: "if known ~= '' and known ~= n then", After: "if false then",
		Breaks: "a call says that calls of its lane before it were lost, of whatever kind its jobs are",
		Tests:  scripts("TestALaneThatWentBackIsNoticed"),
	},
	{
		Name: "rewound-heard", File: "lua/prelude.lua",
		Before: "  return last:match(' 0=rewound:%d+%-%d+') or ''\n", After: "  return ''\n",
		Breaks: "what a call has said of a loss is said again while nobody has heard it",
		Tests:  scripts("TestALaneThatWentBackIsNoticed"),
	},
	{
		Name: "rewound-by-text", File: "lua/prelude.lua",
		Before: "tonumber(n) < tonumber(known)", After: "true",
		Breaks: "a call that was not answered is no loss",
		Tests:  scripts("TestALaneThatWentBackIsNoticed"),
	},
	{
		Name: "settled-again-unwritten", File: "lua/worker/note_settled.lua",
		Before: "if type(answer) == 'table' then return answer end", After: "if answer then return answer end",
		Breaks: "a settlement that is noted again stands behind the outcomes that were sent again",
		Tests:  scripts("TestASettlementThatIsNotedAgainIsWrittenAgain"),
	},
	{
		Name: "enqueue-mixed-no-token", File: "lua/job/enqueue_mixed.lua",
		Before: "summon(limits, name, KEYS[at + 1], KEYS[at + 2], KEYS[at + 3], 1)",
		Breaks: "a worker that waits is woken by a new job of a call of several queues",
		Tests:  scripts("TestEnqueuePutsEachJobInItsPlace"),
	},
	{
		Name: "enqueue-mixed-not-ready", File: "lua/job/enqueue_mixed.lua",
		Before: "redis.call('SADD', ready, name)",
		Breaks: "every queue with jobs is among the ready ones, also after a call of several queues",
		Tests:  scripts("TestEnqueuePutsEachJobInItsPlace"),
	},
	{
		Name: "enqueue-wakes-for-the-paused", File: "lua/job/enqueue.lua",
		Before: "summon(KEYS[5], ARGV[3], KEYS[7], KEYS[8], KEYS[9], 1)", After: "wake(KEYS[7], 1)",
		Breaks: "nobody is woken for a queue whose jobs may not begin",
		Tests:  unmodelled("TestEnqueueToAPausedQueueWakesNobody"),
	},
	{
		Name: "enqueue-mixed-wakes-for-the-paused", File: "lua/job/enqueue_mixed.lua",
		Before: "summon(limits, name, KEYS[at + 1], KEYS[at + 2], KEYS[at + 3], 1)", After: "wake(KEYS[at + 1], 1)",
		Breaks: "nobody is woken for a queue whose jobs may not begin, of whatever kind they are",
		Tests:  unmodelled("TestEnqueueToAPausedQueueWakesNobody"),
	},
	{
		Name: "enqueue-bad-queue-fails-all", File: "lua/job/enqueue.lua",
		Before: "if not length.err:find('WRONGTYPE', 1, true) then return length end", After: "do return length end",
		Breaks: "a broken key of a queue refuses the jobs of that queue, and the call is answered",
		Tests:  scripts("TestEnqueueOfOneQueue"),
	},
	{
		Name: "enqueue-half", File: "lua/job/enqueue_mixed.lua",
		Before: "or bad('ZCARD', scheduled) or bad('HLEN', names) or bad('HLEN', unique)",
		After:  "or bad('HLEN', unique)",
		Breaks: "a call that meets a broken key stores nothing, so that it can be sent again",
		Tests:  unmodelled("TestEnqueueRefusesAKeyOfAnotherTypeBeforeItWrites"),
	},
	{
		Name: "enqueue-listed-unasked", File: "lua/job/enqueue.lua",
		Before: "local refusal = bad('ZCARD', KEYS[3]) or bad('SCARD', KEYS[4])", After: "local refusal",
		Breaks: "a call to an empty queue that meets a broken list of queues stores nothing",
		Tests:  unmodelled("TestAPlainEnqueueRefusesAKeyOfAnotherTypeBeforeItWrites"),
	},
}

var fetchScripts = []mutant{
	{
		Name: "fetch-unregistered", File: "lua/job/fetch.lua",
		Before: "if redis.call('SISMEMBER', workers, worker) == 0 then return { 'fenced' } end",
		Breaks: "a worker that was declared dead claims nothing",
		Tests:  scripts("TestFetchRefusesWhatIsNotNewOrNotRegistered"), Quick: true,
	},
	{
		Name: "fetch-number-ignored", File: "lua/job/fetch.lua",
		Before: "if tonumber(number) <= tonumber(redis.call('HGET', info, 'n') or 0) then return { 'stale' } end",
		Breaks: "a fetch that was given up cannot land after a newer one",
		Tests:  scripts("TestFetchRefusesWhatIsNotNewOrNotRegistered"),
	},
	{
		Name: "fetch-number-again", File: "lua/job/fetch.lua",
		Before: "tonumber(number) <= tonumber(", After: "tonumber(number) < tonumber(",
		Breaks: "a fetch that arrives twice claims once",
		Tests:  scripts("TestFetchRefusesWhatIsNotNewOrNotRegistered"),
	},
	{
		Name: "fetch-number-forgotten", File: "lua/job/fetch.lua",
		Before: "if #queues > 0 then redis.call('HSET', info, 'n', number) end",
		Breaks: "a worker's claims have numbers that grow",
		Tests:  scripts("TestFetchAnswersWhatIsStored"),
	},
	{
		Name: "fetch-claimed", File: "lua/job/fetch.lua",
		Before: "if records[i] and not holders[i] and not seen[ids[i]] then",
		After:  "if records[i] and not seen[ids[i]] then",
		Breaks: "a job has one claim at the most",
		Tests:  unmodelled("TestFetchDropsWhatIsNoJobToRun"), Quick: true,
	},
	{
		Name: "fetch-unsifted-held", File: "lua/job/fetch.lua",
		Before: "if not records[i] or holders[i] then", After: "if not records[i] then",
		Breaks: "a job has one claim at the most, also where nothing else is wrong with the queue",
		Tests:  unmodelled("TestFetchDropsWhatIsNoJobToRun"),
	},
	{
		Name: "fetch-unsifted-twice", File: "lua/job/fetch.lua",
		Before: "< n then n = sift(ids, owners, records, {}) end -- one stood twice", After: "< 0 then return true end",
		Breaks: "an id that stands in a queue twice runs once, also where nothing else is wrong",
		Tests:  unmodelled("TestFetchTakesAnIDOnceThatStandsTwiceInOneLot"),
	},
	{
		Name: "fetch-twice-in-line", File: "lua/job/fetch.lua",
		Before: "not holders[i] and not seen[ids[i]] then", After: "not holders[i] then",
		Breaks: "an id that stands in a queue twice runs once",
		Tests:  unmodelled("TestFetchTakesAnIDOnceThatStandsTwiceInOneLot"),
	},
	{
		Name: "fetch-no-record", File: "lua/job/fetch.lua",
		Before: "if records[i] and not holders[i]", After: "if not holders[i]",
		Breaks: "an id without a record is dropped, and the rest of its queue is served",
		Tests:  scripts("TestFetchDropsWhatIsNoJobToRun"),
	},
	{
		Name: "fetch-unclaimed", File: "lua/job/fetch.lua",
		Before: "if redis.call('HSET', claimed, unpack(claims)) < n then n = sift(ids, owners, records, {}) end -- " +
			"one stood twice",
		Breaks: "the index of claims knows every claim",
		Tests:  scripts("TestFetchAnswersWhatIsStored"),
	},
	{
		Name: "fetch-order", File: "lua/job/fetch.lua",
		Before: "redis.call('LPUSH', KEYS[queue.at + 4], unpack(elements))",
		After:  "redis.call('RPUSH', KEYS[queue.at + 4], unpack(elements))",
		Breaks: "what a dead worker held goes back in its old order",
		Tests:  scripts("TestFetchAnswersWhatIsStored"),
	},
	{
		Name: "fetch-no-token", File: "lua/job/fetch.lua",
		Before: "wake(KEYS[queue.at + 1], math.min(left, 2, queue.room or 2))",
		Breaks: "a fetch that leaves jobs wakes those who can take them",
		Tests:  scripts("TestFetchGivesSharesFirstAndThenFillsUp"),
	},
	{
		Name: "fetch-ready-stays", File: "lua/job/fetch.lua",
		Before: "redis.call('SREM', ready, queue.name)",
		Breaks: "an empty queue is not among the ready ones, so nobody asks it again and again",
		Tests:  scripts("TestFetchAnswersWhatIsStored"),
	},
	{
		Name: "fetch-unbounded", File: "lua/job/fetch.lua",
		Before: "math.min(tonumber(ARGV[3]), 500)", After: "tonumber(ARGV[3])",
		Breaks: "no script handles more than 500 jobs at a time",
		Tests:  unmodelled("TestFetchNeverTakesMoreThanABatch"),
	},
	{
		Name: "survey-number-forgotten", File: "lua/worker/survey.lua",
		Before: "redis.call('HSET', info, 'n', ARGV[2])",
		Breaks: "no fetch that was sent before a survey lands after it",
		Tests:  scripts("TestSurveyTellsWhatIsHeldAndKeepsOlderFetchesOut"),
	},
	{
		Name: "survey-unregistered", File: "lua/worker/survey.lua",
		Before: "if redis.call('SISMEMBER', workers, ARGV[1]) == 0 then return { 'fenced' } end",
		Breaks: "a worker that was declared dead learns so, and gives nothing back that others hold",
		Tests:  scripts("TestSurveyTellsWhatIsHeldAndKeepsOlderFetchesOut"),
	},
}
