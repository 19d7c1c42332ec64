package work

import (
	"fmt"
	"time"
)

// Once stores one job for all requests that give the same key within d of the first, whatever the names of their jobs
// and whatever became of the first one: also when it was done, cancelled, deleted or buried long ago. So somebody who
// did not hear the answer can ask again. The Receipt then says Duplicate, and has the id of the first. The key has 1 to
// 200 bytes; d is above zero, at most 100 years, counts in whole milliseconds, and goes by the clock of Redis.
//
// It takes the place of [Unique], also of that in the job's own options: a job has one lock, and this one belongs to
// the request and not to the job. An [ID] beside it must not be used a second time.
func Once(key string, d time.Duration) EnqueueOption {
	return func(s *jobSettings) {
		options := &UniqueOptions{Key: key, For: d, once: true}
		s.unique = options
		switch {
		case key == "":
			s.refuse(&InvalidError{What: "key of option Once", Value: "empty",
				Remedy: "use 1 to 200 bytes, such as a random UUID"})
		case len(key) > maxKeyBytes:
			s.refuse(&InvalidError{What: "key of option Once",
				Value:  fmt.Sprintf("%s, which has %d bytes", quoted(key), len(key)),
				Remedy: "use at most 200, such as a hash of it"})
		case d > maxAhead:
			s.refuse(&InvalidError{What: "option Once", Value: d.String(),
				Remedy: "use a duration of at most 100 years"})
		}
		s.refuse(positive("option Once", d))
	}
}
