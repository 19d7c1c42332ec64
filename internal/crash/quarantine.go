package crash

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Quarantine lets one suspect at a time run in a process, a job that SuspectAfter workers have died with; the others
// wait. So if the program dies now, that one is to blame, and its innocent neighbours are not buried with it. Its zero
// value is empty. It may be used concurrently.
type Quarantine[Run any] struct{ within atomic.Pointer[Run] }

// Enter makes a suspect the one that runs. It is false while another one does.
func (q *Quarantine[Run]) Enter(suspect *Run) bool { return q.within.CompareAndSwap(nil, suspect) }

// Leave ends the time of a suspect; one that never entered changes nothing.
func (q *Quarantine[Run]) Leave(suspect *Run) { q.within.CompareAndSwap(suspect, nil) }

// Wait is how long a suspect waits that could not enter. Suspects do not come back all at once.
func Wait() time.Duration { return MinWait + rand.N(MaxWait-MinWait) }
