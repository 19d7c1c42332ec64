package main

// moves are tests of movers, which die, are followed by others, and know older maps.
func moves(names ...string) []tests { return []tests{{"./internal/resize", names}} }

// moveScripts are about what is on its way from one partition to another.
var moveScripts = []mutant{
	{
		Name: "freeze-over-another-batch", File: "lua/partition/freeze.lua",
		Before: "if redis.call('HLEN', frozen) > 1 then", After: "if false then",
		Breaks: "what a dead mover has left on its way arrives",
		Tests:  moves("TestAMoverDiesAnywhere", "TestAnotherMoverDeliversToTheFront"),
	},
	{
		Name: "freeze-held-unnoted", File: "lua/partition/freeze.lua",
		Before: "    if bound then redis.call('HSET', stragglers, id, bound) end\n",
		Breaks: "the home of a job that is held elsewhere hears of its end",
		Tests:  moves("TestWhatIsHeldMovesOnAndEnds"),
	},
	{
		Name: "freeze-front-forgotten", File: "lua/partition/freeze.lua",
		Before: "named .. ' ' .. front)", After: "named .. ' 0')",
		Breaks: "whoever delivers a batch delivers it to the front, if it goes there",
		Tests:  moves("TestAnotherMoverDeliversToTheFront"),
	},
	{
		Name: "receive-another-batch", File: "lua/partition/receive.lua",
		Before: "if type(answer) == 'string' and answer:match('^%d+ (%S+)') ~= named then", After: "if false then",
		Breaks: "no other batch passes for one that was stored", Tests: unmodelled("TestAnotherBatchByTheSameNumber"),
	},
	{
		Name: "receive-by-an-older-map", File: "lua/partition/receive.lua",
		Before: "answered(lanes, lane, number, map)", After: "answered(lanes, lane, number)",
		Breaks: "a partition that is to go takes nothing from who does not know that yet",
		Tests:  moves("TestATargetThatHasABatchIsToGo", "TestAMoverThatKnowsAnOlderMap"),
	},
	{
		Name: "receive-unanswered", File: "lua/partition/receive.lua",
		Before: "redis.call('HSET', lanes, lane, number .. ' ' .. reply)\nreturn reply",
		After:  "redis.call('HDEL', lanes, lane)\nreturn reply",
		Breaks: "a batch that was taken is not stored again", Tests: moves("TestATargetThatHasABatchIsToGo"),
	},
	{
		Name: "receive-noted-first", File: "lua/partition/receive.lua",
		Before: "lane, before or '0 ' .. ms(time))", After: "lane, number .. ' ' .. reply)",
		Breaks: "a batch of which a part was stored is stored when it comes again",
		Tests:  unmodelled("TestAMoveThatStopsInItsMiddleGoesOn"),
	},
	{
		Name: "freeze-rates-unseen", File: "lua/partition/freeze.lua",
		Before: "  or bad('ZCARD', lines.pacing) or unsound(lines)\n", After: "  or unsound(lines)\n",
		Breaks: "a key of a wrong type keeps a batch from beginning, and not from ending",
		Tests:  unmodelled("TestAKeyOfAWrongTypeLosesNothing"),
	},
	{
		Name: "receive-behind", File: "lua/partition/receive.lua",
		Before: "front == '1' and 'RPUSH' or 'LPUSH'", After: "'LPUSH'",
		Breaks: "what was given back goes before what waits",
		Tests:  moves("TestAnotherMoverDeliversToTheFront"),
	},
	{
		Name: "freeze-unnumbered", File: "lua/partition/freeze.lua",
		Before: ", ms(#told), holds", After: ", '0', holds",
		Breaks: "a batch that somebody has left behind keeps the order of its keys",
		Tests:  moves("TestTheOrderOfAKeyInABatchThatSomebodyLeftBehind"),
	},
	{
		Name: "receive-turns-behind", File: "lua/partition/receive.lua",
		Before: "turned, front == '1')", After: "turned, false)",
		Breaks: "what is given back of a key goes before what waits of it",
		Tests:  moves("TestWhatIsGivenBackOfAKeyThatHasMovedComesFirst"),
	},
	{
		Name: "receive-foreign-without-key", File: "lua/prelude.lua",
		Before: "(whose ~= '' and '\\0' .. whose or '')", After: "''",
		Breaks: "the home of a job that is held elsewhere goes by its key",
		Tests:  moves("TestWhatIsGivenBackOfAKeyThatHasMovedComesFirst"),
	},
	{
		Name: "track-without-key", File: "lua/prelude.lua",
		Before: "      .. (group.keys and '\\0' .. ARGV[group.keys] or ''))\n", After: "      )\n",
		Breaks: "what is stored of a key while its partition is divided is brought home",
		Tests:  moves("TestWhatIsStoredOfAKeyMeanwhileIsBroughtHome"),
	},
	{
		Name: "cancel-who-has-the-id", File: "internal/resize/transfer.go",
		Before: "rec.EnqueuedAt == at)", After: "true)",
		Breaks: "who goes on with a batch does not cancel a job that has the id of one which has ended",
		Tests:  moves("TestAnotherJobOfTheIDIsNotCancelled"),
	},
	{
		Name: "continue-what-nobody-wants", File: "internal/resize/to.go",
		Before: "(r.continues || !first && m.Wanted != 0)", After: "(!first && m.Wanted != 0)",
		Breaks: "who goes on with a change of the partitions decides none",
		Tests:  moves("TestWhoContinuesUndoesNothing"),
	},
	{
		Name: "keys-begin-at-both-ends", File: "lua/prelude.lua",
		Before: "    local away = leaves(key)\n", After: "    local away = false\n",
		Breaks: "no job of a key gets a place where the key is leaving",
		Tests:  moves("TestTheLimitOfAKeyHoldsWhileItMoves"),
	},
	{
		Name: "receive-held-without-place", File: "lua/partition/receive.lua",
		Before: "    sit_down(lines, ARGV[7 + queue], id, known, true, ARGV[at + 14])\n",
		Breaks: "who runs elsewhere has a place of its key where it lives",
		Tests:  moves("TestTheLimitOfAKeyHoldsWhileItMoves"),
	},
	{
		Name: "receive-gone-keeps-place", File: "lua/partition/receive.lua",
		Before: "      roomy[queue] = sit_down(lines, ARGV[7 + queue], id, ARGV[at + 12], false, '') or roomy[queue]\n",
		Breaks: "who has ended elsewhere gives the place of its key on where it lived",
		Tests:  moves("TestTheLimitOfAKeyHoldsWhileItMoves"),
	},
	{
		Name: "move-keeps-place", File: "lua/inspect/move.lua",
		Before: "if withdraw(lines, name, id, shelved and from ~= lines.turns, dead == '1') then",
		After:  "if false then",
		Breaks: "who is moved out of its queue gives the place of its key on",
		Tests:  unmodelled("TestWhatIsMovedByHandGivesItsPlaceOn"),
	},
	{
		Name: "move-parked-behind", File: "lua/inspect/move.lua",
		Before: "      unpark(lines, id, stands, redis.call('HGET', lines.keyed, id))\n",
		Breaks: "who is parked and moved leaves nothing that finds it",
		Tests:  unmodelled("TestWhatIsParkedIsMovedByHand"),
	},
	{
		Name: "purge-keeps-place", File: "lua/inspect/purge.lua",
		Before: "  if vacate(lines, name, ended, known) then wake(tokens, 1) end\n",
		Breaks: "who is purged gives the place of its key on",
		Tests:  unmodelled("TestWhatIsMovedByHandGivesItsPlaceOn"),
	},
	{
		Name: "forget-queue-with-places", File: "lua/inspect/forget_queue.lua",
		Before: "  if redis.call('ZLEXCOUNT', holding, '[' .. number .. '\\0', '(' .. number .. '\\1') > 0 then " +
			"return 0 end\n",
		Breaks: "a queue whose jobs have places of their keys is not forgotten",
		Tests:  unmodelled("TestAQueueIsForgottenOnceNoKeyOfItHasJobs"),
	},
	{
		Name: "agree-keys-ungranted", File: "lua/repair/agree_keys.lua",
		Before: "      local given, waits = grant(lines, name, base, key, rule)\n",
		After:  "      local given, waits = 0, false\n",
		Breaks: "places that nobody gave on are given on",
		Tests:  unmodelled("TestWhatIsKeptOfKeysIsMended"),
	},
	{
		Name: "agree-keys-takes-ordered", File: "lua/repair/agree_keys.lua",
		Before: "then return order and order:sub(1, 1) == 'h' end", After: "then return false end",
		Breaks: "who waits for another attempt keeps the place of its ordered key",
		Tests:  unmodelled("TestWhatHasItsPlaceByRightKeepsIt"),
	},
	{
		Name: "hand-over-stays-foreign", File: "lua/partition/hand_over.lua",
		Before: "    redis.call('HDEL', foreign, id)\n",
		Breaks: "a partition that a job has left counts it no more",
		Tests:  moves("TestWhatIsHeldMovesOnAndEnds"),
	},
	{
		Name: "cancel-the-dead-on-their-way", File: "lua/inspect/cancel.lua",
		Before: "  if head and rest:sub(1, 6) == 'morgue' then return 'morgue' end\n",
		Breaks: "a job of the morgue is not cancelled, also while it is on its way",
		Tests:  moves("TestWhatIsOnItsWayIsCancelled"),
	},
	{
		Name: "thaw-unnoted", File: "lua/partition/thaw.lua",
		Before: "redis.call('HSET', frozen, '', number .. ' ' .. named .. ' 1 ' .. ARGV[4])\n",
		Breaks: "a batch that is taken back goes to nobody else any more",
		Tests:  moves("TestWhatIsFrozenForOneThatIsClosed"),
	},
	{
		Name: "lead-together", File: "lua/partition/lead.lua",
		Before: "leader and leader ~= token or ", After: "",
		Breaks: "one mover leads in a partition",
		Tests:  moves("TestALeadThatIsLostIsTakenAnew", "TestALeadLastsThroughWalks"),
	},
	{
		Name: "lead-lapsed", File: "lua/partition/lead.lua",
		Before: " or not leader and keeps == '1'",
		Breaks: "a lead that has lapsed is not kept",
		Tests:  moves("TestALeadThatIsLostIsTakenAnew"),
	},
}
