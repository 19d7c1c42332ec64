package thoonk

import "context"

// Ended says what came of a job.
type Ended[R any] struct {
	ID     string
	Result R     // the zero value where it ended without one
	Err    error // nil, or why Result says nothing: see [JobEnds.Put]
}

// JobEnds puts jobs into a feed and tells what came of each. Its methods may be called concurrently.
type JobEnds[T, R any] struct {
	jobs    *JobFeed[T, R]
	endings *endings
}

// NewJobEnds returns a JobEnds, which takes one connection from its first job on until the client is closed: make one
// for a feed.
func NewJobEnds[T, R any](jobs *JobFeed[T, R]) *JobEnds[T, R] {
	return &JobEnds[T, R]{jobs, newEndings(jobs.feed)}
}

// Put puts a job as [JobFeed.Put] does, and calls then once when it has ended, whoever ends it. Err is nil where it was
// finished, with a result or without; [ErrNoItem] where it was retracted, [ErrNoFeed] where its feed was deleted, a
// [*DecodeError] where its result cannot be read, and [ErrClosed] where the client was closed before. It is
// [ErrEndUnknown] where the job is gone and nobody has said how: it was retracted, or ended without a result, while the
// connection was away or by a program that does not tell. That is told some seconds later, lest it overtakes an event.
//
// The calls come from goroutines of the client and hold up each other's, and [Client.Close] waits for them: then must
// not block, and not close the client. After an error of Put itself then is not called; the job may be in the feed all
// the same, as with [JobFeed.Put]. Do not use an id again while the earlier job of it ends: that one's end may be told.
func (j *JobEnds[T, R]) Put(ctx context.Context, value T, then func(Ended[R]), options ...PutOption) (string, error) {
	feed := j.jobs.feed
	chosen, err := newPutting(options, checkJobID)
	if err != nil {
		return "", feed.client.explained(feed.Name(), err)
	}
	tell := func(e ending) { then(j.ended(chosen.id, e)) }
	if err := j.endings.expect(ctx, chosen.id, tell); err != nil {
		return "", &FeedError{Feed: feed.Name(), ID: chosen.id, Err: err}
	}
	id, err := put(ctx, feed, j.jobs.items, value, chosen)
	if err != nil {
		j.endings.forget(chosen.id)
		return "", err
	}
	j.endings.stored(chosen.id)
	return id, nil
}

// ended decodes what came of a job.
func (j *JobEnds[T, R]) ended(id string, e ending) Ended[R] {
	told := Ended[R]{ID: id, Err: e.err}
	if told.Err == nil && e.result != nil {
		told.Result, told.Err = decoded(j.jobs.results, e.result)
	}
	if told.Err != nil {
		told.Err = &FeedError{Feed: j.jobs.Name(), ID: id, Err: told.Err}
	}
	return told
}
