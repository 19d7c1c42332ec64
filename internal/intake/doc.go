// Package intake brings jobs into Redis: in numbered calls, so that one which is made again counts once, and with the
// jobs of callers that come at the same time in one call. It knows how often and for how long a call is made again,
// what the answers mean, that the objects of a job are there before it, and how a job of a kind that lives is changed.
//
// The Enqueuer of package work calls it with jobs that are checked and encoded. It never looks into a record, has no
// options, and shows no error of its own that a program must know: see Result.
package intake
