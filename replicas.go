package work

import (
	"fmt"
	"time"
)

// maxReplicaWait bounds what a call that waits for replicas may hold up.
const maxReplicaWait = time.Minute

// WaitReplicas makes an enqueue wait until so many replicas of Redis have the job, at most so long. When fewer have
// confirmed it by then, the job is stored all the same: the error is an *[EnqueueError] that lists it under Stored,
// with a *[ReplicasError] inside. Redis replicates asynchronously: this makes it less likely that a failover loses the
// job, not impossible. Callers that share a call wait for the largest number among them.
func WaitReplicas(n int, timeout time.Duration) EnqueueOption {
	return func(s *jobSettings) {
		s.replicas, s.replicaWait = n, timeout
		if n < 1 {
			s.refuse(&InvalidError{What: "number of replicas of option WaitReplicas", Value: fmt.Sprint(n),
				Remedy: "use one or more"})
		}
		if timeout <= 0 || timeout > maxReplicaWait {
			s.refuse(&InvalidError{
				What: "timeout of option WaitReplicas", Value: timeout.String(),
				Remedy: "use above zero and at most one minute",
			})
		}
	}
}

// ReplicasError says that a job is stored, but that fewer replicas have confirmed it than [WaitReplicas] asked for.
type ReplicasError struct{ Wanted, Confirmed int }

func (e *ReplicasError) Error() string {
	return fmt.Sprintf("%d of %d replicas have confirmed it in time", e.Confirmed, e.Wanted)
}

// unconfirmed is the error of a job that is stored and has fewer replicas than it wanted.
func (p *prepared) unconfirmed(a answer) error {
	if a.replicas >= p.job.Replicas {
		return nil
	}
	return &ReplicasError{Wanted: p.job.Replicas, Confirmed: a.replicas}
}
