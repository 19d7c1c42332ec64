// Package waiting is who waits for the end of jobs: callers that want to know what became of some ([Waiters]), and
// readers of completion queues, which learn of every end there ([Queue]). An enqueuer has one Waiters for all its
// callers, and closes it. What the end of a job means to a program, its result for instance, is not known here.
package waiting
