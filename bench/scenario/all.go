package scenario

import "time"

// All are the scenarios, in the order of the table.
func All() []Scenario {
	return []Scenario{
		process(processing{concurrency: 20, queues: 1}),
		process(processing{concurrency: 20, queues: 10}),
		process(processing{concurrency: 20, queues: 100}),
		process(processing{concurrency: 20, queues: 1000}),
		process(processing{concurrency: 200, queues: 1}),
		process(processing{concurrency: 200, queues: 10}),
		process(processing{concurrency: 200, queues: 100}),
		process(processing{concurrency: 20, queues: 1, idle: 999}),
		process(processing{concurrency: 20, queues: 10, takes: time.Millisecond}),
		process(processing{concurrency: 200, queues: 10, takes: 20 * time.Millisecond}),
		process(processing{concurrency: 20, queues: 10, pad: 1000}),
		process(processing{concurrency: 20, queues: 10, pad: 100_000}),
		ceiling(20),
		ceiling(200),
		enqueue(1),
		enqueue(16),
		enqueue(128),
		bulk(),
		pickup(),
		lateness(),
		half(),
		steady(),
		backlog(),
		idle(10),
		idle(100),
		elastic(20),
		elastic(10_000),
		memory(),
		startStop(),
	}
}

// OfDrivers are those that show what a client of Redis costs: single calls, small and large pipelines of scripts, and
// what an idle worker waits by.
func OfDrivers() []Scenario {
	all := []Scenario{
		enqueue(1),
		enqueue(16),
		bulk(),
		process(processing{concurrency: 1, queues: 1}),
		process(processing{concurrency: 200, queues: 1}),
		process(processing{concurrency: 200, queues: 10}),
		ceiling(20),
		ceiling(200),
		pickup(),
		elastic(20),
	}
	for i := range all {
		all[i].Rounds = [3]int{} // as many as of the others
	}
	return all
}
