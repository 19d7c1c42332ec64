// Package integration holds the tests of the framework with real processes, a real Redis and real faults: worker
// processes that are killed, stopped and paused, a Redis that is killed and paused. It has no code of its own.
//
// Each test starts a fleet of worker processes, which are this test binary again. They report every begin and end of a
// handler to the test's ledger; at the end the ledger must account for every job. The Redis is that of package
// redistest: a container, a redis-server on PATH, or none, in which case the tests are skipped with the reason.
package integration
