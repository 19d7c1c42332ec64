// Package worktest helps to test programs that use package work: what they enqueue, and what their jobs do. It needs
// nothing but the test: Redis is inside its process, and no time has to pass.
//
//	func TestSignUp(t *testing.T) {
//		t.Parallel()
//		r := worktest.New(t)                            // a Redis of this test
//		pool := r.Start(t, shop.NewPool(r.Options()))   // the program's own pool, on it
//		shop.SignUp(t.Context(), pool.Enqueuer(), "ada@example.org")
//
//		job := worktest.AssertEnqueued(t, r, "welcome", "ada@example.org") // what the program enqueued
//		worktest.WaitEnded(t, r, job.ID)                                   // its jobs run, as in production
//		worktest.AssertWanted(t, r, worktest.Want{Name: "remind", Args: []any{"ada@example.org"}, In: 24 * time.Hour})
//		worktest.DrainFor(t, r, pool, 24*time.Hour)                        // a day later
//	}
//
//	func TestWelcomeIsRefusedWithoutAnAddress(t *testing.T) {
//		outcome := worktest.Run(t, shop.NewPool(work.WorkerOptions{}), "welcome", "")
//		if !errors.Is(outcome.Err, shop.ErrNoAddress) || outcome.Ending != work.EndingBury { ... }
//	}
//
// # Which to use
//
//   - [RunTogether] runs jobs that are taken together, as one batch.
//   - [RunFlow] runs a flow of jobs to its end: see package flow.
//   - [Run] runs one job through middleware and handler and tells what came of it: its error, result, log, check-ins,
//     and what it enqueued. The pool that it gets need not be started, nor reach any Redis. [RunKind] is for a
//     work.Kind, and [WantKind] describes a job of one.
//   - [New] is a [Redis] for pools and enqueuers that run on, with a clock that can be held and moved: [Redis.Hold],
//     [Redis.Advance].
//   - [Drain], [DrainAll] and [DrainFor] run what waits until nothing is left: what is due; all of it; what is due in
//     some time.
//   - [AssertEnqueued], [AssertNotEnqueued], [AssertNoneEnqueued] and [AssertWanted] look at what was enqueued through
//     a [Redis], by one job, or through any Enqueuer with a [Recorder] around it.
//   - [WaitFor] waits for an event that a [Spy] has seen or will see, [WaitEnded] for the end of a job.
//
// # How near to production
//
// Jobs are encoded, stored, fetched, decoded and settled by the same code as in production, on the Redis of package
// embedded; see there for what it does otherwise than a real one. What depends on such a difference, on how many
// processes there are, or on a Redis that dies, has to be tried on a real one.
//
// Waiting has a bound of 20 seconds, which only a failing test reaches, and the end of the test's Context. Functions
// with a t belong into the goroutine of the test, since they may end it. They need nothing of package testing but
// [testing.TB].
package worktest
