package main

// doctored are tests of the doctor and of the janitor.
func doctored(names ...string) []tests {
	return []tests{{"./inspect/doctor", append(names, "TestDoctorMendsEachDamageAndSparesWhatOnlyLooksLikeIt")}}
}

// doctorScripts break what mends a namespace that was damaged.
var doctorScripts = []mutant{
	{
		Name: "agree-outcomes-undated", File: "lua/repair/agree_outcomes.lua",
		Before: "if mend then redis.call('ZADD', expiry, ms(now() + tonumber(ARGV[2])), ARGV[i]) end",
		Breaks: "no outcome is kept for ever",
		Tests:  doctored(),
	},
	{
		Name: "agree-outcomes-the-dated", File: "lua/repair/agree_outcomes.lua",
		Before: "elseif dated and not kept then", After: "elseif dated then",
		Breaks: "the time of an outcome that is kept stays",
		Tests:  doctored("TestDoctorFindsNothingWrongWithAHealthyNamespace"),
	},
	{
		Name: "aside-the-sound", File: "lua/repair/rename_broken.lua",
		Before: "if is == 'none' or is == ARGV[1] or redis", After: "if is == 'none' or redis",
		Breaks: "a key that has come right is not set aside",
		Tests:  unmodelled("TestAKeyOfTheRightTypeIsNotSetAside"),
	},
	{
		Name: "aside-expires", File: "lua/repair/rename_broken.lua",
		Before: "redis.call('PERSIST', KEYS[1])",
		Breaks: "what is set aside stays",
		Tests:  unmodelled("TestAKeyOfTheRightTypeIsNotSetAside"),
	},
	{
		Name: "disown-beating", File: "lua/repair/remove_worker.lua",
		Before: "if redis.call('PTTL', heart) >= 0 then return 0 end",
		Breaks: "what belongs to a worker that lives stays",
		Tests:  doctored(),
	},
	{
		Name: "disown-known", File: "lua/repair/remove_worker.lua",
		Before: "if redis.call('SISMEMBER', workers, ARGV[2]) == 1 or redis.call('SISMEMBER', dead, ARGV[2]) == 1 " +
			"then return 0 end",
		Breaks: "a dead worker is taken apart by its reaper, who needs what is stored of it",
		Tests:  unmodelled("TestAWorkerThatIsKnownIsNotDisowned"),
	},
	{
		Name: "limit-life-shortens", File: "lua/repair/limit_life.lua",
		Before: "if left == -2 or left >= 0 and left <= tonumber(ARGV[3]) then return 0 end",
		Breaks: "only a heartbeat that would stay for ever is given a time",
		Tests:  doctored("TestDoctorFindsNothingWrongWithAHealthyNamespace"),
	},
	{
		Name: "limit-life-nothing", File: "lua/repair/limit_life.lua",
		Before: "if ARGV[1] == '1' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end",
		Breaks: "a heartbeat that would stay for ever ends",
		Tests:  doctored(),
	},
	{
		Name: "agree-places-twice", File: "lua/repair/agree_places.lua",
		Before: "if mend then redis.call('ZREM', keys[s], id) end",
		Breaks: "a job stands on one shelf at the most",
		Tests:  doctored(),
	},
	{
		Name: "agree-places-nameless", File: "lua/repair/agree_places.lua",
		Before: "if mend and recorded ~= '' then redis.call('HSET', names, id, recorded) end",
		Breaks: "the queue of a job on a shelf is known",
		Tests:  doctored(),
	},
	{
		Name: "recall-placed", File: "lua/repair/requeue_lost.lua",
		Before: "if not record or redis.sha1hex(record) ~= digest then return 'placed' end",
		Breaks: "a job that has ended meanwhile is not brought back",
		Tests:  unmodelled("TestRecallDecidesByWhatIsThereNow"),
	},
	{
		Name: "recall-unsure", File: "lua/repair/requeue_lost.lua",
		Before: "if sure ~= '1' and redis.call('LLEN', queue) > 2 * tonumber(reach) then return 'unsure' end",
		Breaks: "a job in the middle of a long queue does not stand there twice",
		Tests:  doctored("TestRecallLooksForWhatItCannotSee", "TestDoctorOfALongQueue"),
	},
	{
		Name: "reclaim-fenced", File: "lua/repair/agree_claim.lua",
		Before: "if not known and redis.call('PTTL', heart) >= 0 then return 'ok' end -- it was fenced, and is about " +
			"to notice",
		Breaks: "what a worker holds that is about to notice its end is left to it",
		Tests:  unmodelled("TestReclaimDecidesByWhatIsThereNow"),
	},
	{
		Name: "reclaim-placed", File: "lua/repair/agree_claim.lua",
		Before: "elseif placed() then", After: "elseif false and placed() then",
		Breaks: "a job that is in another place too does not become two",
		Tests:  unmodelled("TestReclaimDecidesByWhatIsThereNow"),
	},
	{
		Name: "agree-indexes-unready", File: "lua/repair/agree_indexes.lua",
		Before: "      redis.call('SADD', ready, name)\n",
		Breaks: "a queue with jobs is found by workers",
		Tests:  doctored(),
	},
	{
		Name: "agree-indexes-forgets-the-served", File: "lua/repair/agree_indexes.lua",
		Before: "if mend and (served or length ~= 0) then", After: "if mend and length ~= 0 then",
		Breaks: "a queue that a worker serves is not forgotten",
		Tests:  unmodelled("TestANameIsForgottenOnlyWhenNobodyNeedsIt"),
	},
	{
		Name: "remove-jobless-living", File: "lua/repair/remove_jobless.lua",
		Before: "belongs = redis.call('HEXISTS', KEYS[2], ARGV[i]) == 1", After: "belongs = false",
		Breaks: "what belongs to a job that lives stays",
		Tests:  unmodelled("TestShedRemovesWhatBelongsToNobody"),
	},
	{
		Name: "remove-jobless-of-another", File: "lua/repair/remove_jobless.lua",
		Before: "(redis.call('HGET', KEYS[2], ARGV[i]) or ''):find(ARGV[1] .. ' ', 1, true) == 1",
		After:  "redis.call('HEXISTS', KEYS[2], ARGV[i]) == 1",
		Breaks: "a check-in of a job that another worker has goes",
		Tests:  unmodelled("TestShedRemovesWhatBelongsToNobody"),
	},
	{
		Name: "remove-duplicate-both", File: "lua/repair/remove_duplicate.lua",
		Before: "redis.call('LSET', queue, far, '')", After: "redis.call('LSET', queue, close, '')",
		Breaks: "of a job that stands in a queue twice the one that is next stays",
		Tests:  unmodelled("TestAnIDThatStandsInAQueueOnceStays"),
	},
	{
		Name: "remove-duplicate-stays-nowhere", File: "lua/repair/remove_duplicate.lua",
		Before: "if not far or not far2 then return 0 end", After: "if not far then return 0 end",
		Breaks: "a job that does not stand in the other queue stays in the first",
		Tests:  unmodelled("TestAnIDThatStandsInAQueueOnceStays"),
	},
	{
		Name: "remove-duplicate-only-once", File: "lua/repair/remove_duplicate.lua",
		Before: "  if far == close then return 0 end\n",
		Breaks: "a job that stands in a queue once stays",
		Tests:  unmodelled("TestAnIDThatStandsInAQueueOnceStays"),
	},
	{
		Name: "remove-unfetchable-held", File: "lua/repair/remove_unfetchable.lua",
		Before: "or claims > 0 and redis.call('HEXISTS', claimed, id) == 1 and 'held'", After: "or nil",
		Breaks: "an id that a worker holds does not stand in its queue",
		Tests:  doctored(),
	},
	{
		Name: "remove-unfetchable-unshelve", File: "lua/repair/remove_unfetchable.lua",
		Before: "        redis.call('ZREM', shelf, id)\n",
		Breaks: "what waits in a queue stands on no shelf",
		Tests:  doctored(),
	},
	{
		Name: "unclaim-held", File: "lua/repair/remove_claim.lua",
		Before: "if registered and redis.call('LPOS', inprocess, element) then return 'ok' end",
		Breaks: "a claim that is held stays",
		Tests:  unmodelled("TestUnclaimDecidesByWhatIsThereNow"),
	},
	{
		Name: "unclaim-no-room", File: "lua/repair/remove_claim.lua",
		Before: "redis.call('SREM', running, id)",
		Breaks: "a claim that nobody holds makes room in its limit",
		Tests:  unmodelled("TestUnclaimDecidesByWhatIsThereNow"),
	},
	{
		Name: "unclaim-elsewhere", File: "lua/repair/remove_claim.lua",
		Before: "  return 'elsewhere'\n",
		Breaks: "a job that is in another place does not become two",
		Tests:  unmodelled("TestUnclaimDecidesByWhatIsThereNow"),
	},
}
