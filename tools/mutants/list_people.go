package main

// peopleScripts break what is kept of what people have done, and of what they are told.
var peopleScripts = []mutant{
	{
		Name: "audit-again", File: "lua/audit/add.lua",
		Before: "'NX', ms(time), entry", After: "ms(time), entry",
		Breaks: "an entry that is sent again keeps its time",
		Tests:  unmodelled("TestWhatPeopleDidIsNotedOnceAndReadInPages"),
	},
	{
		Name: "audit-without-end", File: "lua/audit/add.lua",
		Before: "length + added - most", After: "0",
		Breaks: "what people have done is kept in so many entries",
		Tests:  unmodelled("TestWhatPeopleDidIsBounded"),
	},
	{
		Name: "audit-of-old", File: "lua/audit/add.lua",
		Before: "redis.call('ZCOUNT', audit, '-inf', ms(time - kept))", After: "0",
		Breaks: "what people did is forgotten after its time",
		Tests:  unmodelled("TestWhatPeopleDidIsBounded"),
	},
	{
		Name: "alert-by-all", File: "lua/alert/keep.lua",
		Before: "if holder and holder ~= token then return 0 end",
		Breaks: "one dashboard tells of alerts",
		Tests:  unmodelled("TestOneDashboardTellsOfAlerts"),
	},
	{
		Name: "alert-never-over", File: "lua/alert/keep.lua",
		Before: "redis.call('HDEL', alerts, ARGV[i])",
		Breaks: "an incident that is over is forgotten",
		Tests:  unmodelled("TestOneDashboardTellsOfAlerts"),
	},
}
