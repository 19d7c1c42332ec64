package main

// random is the test of random runs of keys, which checks all rules after each step.
const random = "TestRandomRunsOfKeysKeepTheRules"

// keyedModel is the model test of jobs that have keys.
const keyedModel = "TestModelOfKeysOnTheEmbeddedRedis"

func keys(names ...string) []tests { return unmodelled(append(names, random)...) }

// keyScripts break the limits, the rates and the order of keys.
var keyScripts = []mutant{
	{
		Name: "keys-no-limit", File: "lua/prelude.lua",
		Before: "(held and (state.vacant or 1) > 0 or not held and state.free > 0 and not state.first)", After: "true",
		Breaks: "no more of a key run than its rule says",
		Tests:  keys("TestAKeyHasAsManyRunningAsItsRuleSays"),
	},
	{
		Name: "keys-before-the-parked", File: "lua/prelude.lua",
		Before: "not held and state.free > 0 and not state.first)", After: "not held and state.free > 0)",
		Breaks: "who comes to a key is behind those that are parked",
		Tests:  keys(),
	},
	{
		Name: "keys-no-rate", File: "lua/prelude.lua",
		Before: "local free = not state or state.more > 0", After: "local free = not state or true",
		Breaks: "no more of a key begin than its rate lets",
		Tests:  keys("TestAKeyBeginsNoMoreThanItsRateLets", "TestARateOfKeysIsNeverExceededAndIsReached"),
	},
	{
		Name: "keys-rate-unspent", File: "lua/prelude.lua",
		Before: "if state.debt and state.begun > 0 then", After: "if false then",
		Breaks: "a job that begins uses its part of the rate",
		Tests:  keys("TestAKeyBeginsNoMoreThanItsRateLets"),
	},
	{
		Name: "keys-place-forgotten", File: "lua/prelude.lua",
		Before: "      if held then state.free = state.free + 1 end\n",
		Breaks: "a place that a rate took back is free",
		Tests:  keys(),
	},
	{
		Name: "keys-no-place-at-fetch", File: "lua/prelude.lua",
		Before: "  if #seated > 0 then redis.call('ZADD', lines.holding, unpack(seated)) end\n",
		Breaks: "who is fetched has a place of its key",
		Tests:  keys("TestAKeyHasAsManyRunningAsItsRuleSays"),
	},
	{
		Name: "keys-no-place-by-grant", File: "lua/prelude.lua",
		Before: "    redis.call('ZADD', lines.holding, unpack(members))\n  end\n  if waits", After: "  end\n  if waits",
		Breaks: "a place that is given is taken at once",
		Tests:  keys("TestAKeyHasAsManyRunningAsItsRuleSays"),
	},
	{
		Name: "keys-parked-twice", File: "lua/prelude.lua",
		Before: "    redis.call('ZREM', lines.parked, unpack(first))\n",
		Breaks: "who is given a place is parked no more",
		Tests:  keys("TestAKeyHasAsManyRunningAsItsRuleSays"),
	},
	{
		Name: "keys-not-ready", File: "lua/prelude.lua",
		Before: "  if waits or #first > 0 then redis.call('SADD', lines.ready, name) end\n",
		Breaks: "a queue of which a parked job may begin is to be fetched from",
		Tests:  keys("TestAKeyHasAsManyRunningAsItsRuleSays"),
	},
	{
		Name: "keys-nobody-waits-for-the-rate", File: "lua/prelude.lua",
		Before: "local waits = #first > n and free > n and n < 500", After: "local waits = false",
		Breaks: "a key that waits for its rate is woken",
		Tests:  keys("TestAKeyBeginsNoMoreThanItsRateLets"),
	},
	{
		Name: "keys-no-place-given-on", File: "lua/prelude.lua",
		Before: "or lines.aside == 0 then return false end", After: "or true then return false end",
		Breaks: "who ends gives its place on",
		Tests:  keys("TestAKeyHasAsManyRunningAsItsRuleSays"),
	},
	{
		Name: "keys-own-rule-ignored", File: "lua/prelude.lua",
		Before: "rules[key] = (found[i + 2] or away) and read(found[i + 2] or found[1], away) or common",
		After:  "rules[key] = away and read(found[1], away) or common",
		Breaks: "a key may have a rule of its own",
		Tests:  keys("TestAKeyMayHaveARuleOfItsOwn"),
	},
	{
		Name: "keys-of-all-queues", File: "lua/prelude.lua",
		Before: "if tonumber(number) == base / 2 ^ 42 then counts", After: "if true then counts",
		Breaks: "a key is one of its queue",
		Tests:  unmodelled("TestAKeyIsOneOfItsQueue"),
	},
	{
		Name: "keys-many-uncounted", File: "lua/prelude.lua",
		Before: "counts[key] = redis.call('ZLEXCOUNT', lines.holding, within(at[key]))", After: "counts[key] = 0",
		Breaks: "no more of a key run than its rule says, however many run",
		Tests:  unmodelled("TestTheFirstRuleCountsWhatRuns"),
	},
	{
		Name: "keys-begin-anew-beside-parked", File: "lua/prelude.lua",
		Before: "local over = drawn.over and given == 0 and (lines.aside == 0\n",
		After:  "local over = drawn.over and given == 0 and (true\n",
		Breaks: "passes begin anew only where nothing of the queue is parked",
		Tests:  unmodelled("TestPassesGoOnWhileJobsAreParked"),
	},
	{
		Name: "keys-retry-lets-go", File: "lua/job/shelve.lua",
		Before: "order:sub(1, 1) == 'h'", After: "false",
		Breaks: "a job of an ordered key keeps its place while it waits for another attempt",
		Tests:  keys("TestARetryHoldsAnOrderedKey"),
	},
	{
		Name: "keys-death-lets-go", File: "lua/job/shelve.lua",
		Before: "over == '1' and order:sub(2) == 's'", After: "false",
		Breaks: "a job that has died stops its key, if that was chosen",
		Tests:  keys("TestADeathMayStopAnOrderedKey"),
	},
	{
		Name: "keys-release-lets-go", File: "lua/prelude.lua",
		Before: "    if key then\n      older_than(places[i])",
		After:  "    if false then\n      older_than(places[i])",
		Breaks: "what is given back waits by turns, before all others",
		Tests:  unmodelled("TestKeyedJobsThatAreGivenBackOrRestored"),
	},
	{
		Name: "keys-front-beats-rules", File: "lua/inspect/move.lua",
		Before: "    assign(lines.turning, name) -- so that a fetch looks at its key\n", After: "",
		Breaks: "what goes to the front by hand keeps the rule of its key, also in a queue that has no turns yet",
		Tests:  unmodelled("TestWhatGoesToTheFrontKeepsTheRuleOfItsKey"),
	},
	{
		Name: "keys-older-stay", File: "lua/prelude.lua",
		Before: "if score >= base and score < edge then", After: "if false then",
		Breaks: "jobs with keys that are given back one after the other wait in their old order",
		Tests:  unmodelled("TestWhatIsOlderOfKeysWaitsBeforeWhatIsReleased"),
	},
	{
		Name: "keys-older-from-anywhere", File: "lua/prelude.lua",
		Before: "if score >= base and score < edge then", After: "if score >= base then",
		Breaks: "what has lined up since it was given back stays where it is",
		Tests:  unmodelled("TestWhatIsOlderOfKeysWaitsBeforeWhatIsReleased"),
	},
	{
		Name: "keys-due-at-the-back", File: "lua/prelude.lua",
		Before: "if held[(i + 2) / 3] then", After: "if false then",
		Breaks: "a job that kept its place is next when it is due",
		Tests:  unmodelled("TestARetryOfAnOrderedKeyIsNext"),
	},
	{
		Name: "keys-end-stays-parked", File: "lua/job/end.lua",
		Before: "      unpark(lines, id, stands, redis.call('HGET', lines.keyed, id))\n",
		Breaks: "who is deleted is parked no more",
		Tests:  keys("TestWhoIsDeletedGivesItsPlaceOn"),
	},
	{
		Name: "keys-rule-overwritten", File: "lua/limit/define_keys.lua",
		Before: "if present ~= before then return 0 end\n",
		Breaks: "of two programs that declare another rule each only the last counts",
		Tests:  unmodelled("TestARuleOfKeysMayChangeWhileJobsRun"),
	},
	{
		Name: "keys-rule-before-the-count", File: "lua/limit/define_keys.lua",
		Before: "if count ~= 'done' and (not count or count ~= done) then", After: "if false then",
		Breaks: "the first rule counts what runs before it is in force",
		Tests:  unmodelled("TestTheFirstRuleCountsWhatRuns"),
	},
	{
		Name: "keys-count-of-another", File: "lua/limit/define_keys.lua",
		Before: "if count ~= 'done' and (not count or count ~= done) then",
		After:  "if count ~= 'done' and (not count or done == '') then",
		Breaks: "a count that was ended by others is worth nothing",
		Tests:  unmodelled("TestACountOfWhatRunsIsTheCallersOwn"),
	},
	{
		Name: "keys-count-for-ever", File: "lua/limit/define_keys.lua",
		Before: "  if many == 2 then redis.call('HDEL', rules, '\\0') end -- nothing else is left\n",
		Breaks: "the count ends with the last rule",
		Tests:  unmodelled("TestACountOfWhatRunsIsTheCallersOwn"),
	},
	{
		Name: "keys-seat-nobody", File: "lua/limit/seat.lua",
		Before: "return #seated > 0 and redis.call('ZADD', holding, unpack(seated)) or 0", After: "return #seated",
		Breaks: "what runs when the first rule comes has places",
		Tests:  unmodelled("TestTheFirstRuleCountsWhatRuns", "TestRulesThatAreAddedCountWhatRuns"),
	},
	{
		Name: "keys-seat-the-gone", File: "lua/limit/seat.lua",
		Before: "local name = claims[i] and claims[i]:match('^%S+ %S+ %S+ (.*)$')", After: "local name = 'a'",
		Breaks: "what has ended by then has no place",
		Tests:  unmodelled("TestWhatHasEndedIsNotCounted"),
	},
	{
		Name: "keys-grant-calls-nobody", File: "lua/limit/grant.lua",
		Before: "if roomy then wake(tokens, 2) end\n",
		Breaks: "a larger limit is used at once",
		Tests:  unmodelled("TestARuleOfKeysMayChangeWhileJobsRun"),
	},
	{
		Name: "keys-resumed-calls-nobody", File: "lua/limit/pause.lua",
		Before: "math.min(1, lined(KEYS[6], KEYS[5], name))", After: "0",
		Breaks: "a queue that goes on calls a worker also where all its keys wait for their rate",
		Tests:  unmodelled("TestAQueueOfKeysThatWaitForTheirRateCallsAWorkerWhenItMayGoOn"),
	},
	{
		Name: "keys-unlimited-calls-nobody", File: "lua/limit/define.lua",
		Before: "math.min(1, lined(KEYS[5], KEYS[4], name))", After: "0",
		Breaks: "a queue that goes on calls a worker also where all its keys wait for their rate",
		Tests:  unmodelled("TestAQueueOfKeysThatWaitForTheirRateCallsAWorkerWhenItMayGoOn"),
	},
	{
		Name: "keys-grant-ends-early", File: "lua/limit/grant.lua",
		Before: "return { given, from and 1 or 0, from or '' }", After: "return { given, 0, '' }",
		Breaks: "a rule that is taken away lets all parked jobs go on",
		Tests:  unmodelled("TestAStoppedKeyGoesOnInSteps"),
	},
	{
		Name: "keys-stopped-begins", File: "lua/prelude.lua",
		Before: "(held and (state.vacant or 1) > 0 or not held", After: "(held or not held",
		Breaks: "no job of a stopped key begins, also none that is given back",
		Tests:  unmodelled("TestWhatIsGivenBackBeginsOnlyWhereTheRuleLetsIt"),
	},
	{
		Name: "keys-fewer-counts-who-waits", File: "lua/prelude.lua",
		Before: "if not waits and not mine[ids[i]] then", After: "if true then",
		Breaks: "of places that have become fewer those who run take some, and who waits none",
		Tests:  unmodelled("TestWhatIsGivenBackBeginsOnlyWhereTheRuleLetsIt", keyedModel),
	},
	{
		Name: "keys-granted-by-id", File: "lua/prelude.lua",
		Before: "floor - 2 ^ 19 or pass, last + 1)", After: "floor - 2 ^ 19 or pass)",
		Breaks: "those who are given places come in the order in which they were parked",
		Tests:  unmodelled("TestPlacesAreGivenInOrder", keyedModel),
	},
	{
		Name: "keys-back-by-id", File: "lua/prelude.lua",
		Before: "first = last and tonumber(last) + 1 or first", After: "first = first",
		Breaks: "those who come back to their places do so in the order in which they came",
		Tests:  unmodelled("TestWhoKeptPlacesComesBackInOrder", keyedModel),
	},
	{
		Name: "keys-granted-before-others", File: "lua/prelude.lua",
		Before: "rule and rule.most == 1 and 0 or rear(lines, at, from, to)", After: "0",
		Breaks: "who is given a place comes behind those that were given one before",
		Tests:  unmodelled("TestPlacesAreGivenInOrder", keyedModel),
	},
	{
		Name: "keys-given-back-behind-newcomers", File: "lua/prelude.lua",
		Before: "return math.min(first and tonumber(first) or floor, floor - 2 ^ 20)",
		After:  "return tonumber(first or floor)",
		Breaks: "what is given back is before what comes later",
		Tests:  unmodelled("TestWhatIsGivenBackIsBeforeWhatComesLater", keyedModel),
	},
	{
		Name: "keys-gone-turns-stay", File: "lua/prelude.lua",
		Before: "  if #moved > 0 then redis.call('ZADD', lines.passes, unpack(moved)) end\n",
		Breaks: "a key waits for no turns of jobs that are gone",
		Tests:  unmodelled("TestAKeyWaitsForNoTurnsOfJobsThatAreGone"),
	},
}
