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
		Before: "    if kind == 'bound' then redis.call('HSET', stragglers, id, target .. ' ' .. ARGV[7 + queue] .. " +
			"'\\0' .. digest) end\n",
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
		Breaks: "no other batch passes for one that was stored",
		Tests:  unmodelled("TestAnotherBatchByTheSameNumber"),
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
		Breaks: "a batch that was taken is not stored again",
		Tests:  moves("TestATargetThatHasABatchIsToGo"),
	},
	{
		Name: "receive-behind", File: "lua/partition/receive.lua",
		Before: "front == '1' and 'RPUSH' or 'LPUSH'", After: "'LPUSH'",
		Breaks: "what was given back goes before what waits",
		Tests:  moves("TestAnotherMoverDeliversToTheFront"),
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
