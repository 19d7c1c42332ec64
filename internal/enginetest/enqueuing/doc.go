// Package enqueuing tests how jobs are stored: what an enqueue takes and refuses, that a call is stored once whatever
// becomes of its reply, which jobs count as the same, and how large args become objects that go with their last job.
// It has nothing but tests.
package enqueuing
