// Package joblog is the logs of jobs: what a handler says through the logger of its job, on its way to Redis, and how
// it is read there.
//
// A [Log] belongs to one attempt and holds what Redis has not taken yet. While the attempt runs the [Flusher] of its
// worker brings the lines of all logs to Redis, a few times a second. Once the attempt is over the flusher leaves the
// log alone: whoever brings the outcome to Redis sends [Log.Rest] ahead of it in the same write, so no outcome waits
// for a log. [Follow] reads a log while it grows. Nothing here holds a handler up, and nothing decides about a job.
package joblog
