package worktest

import (
	"encoding/json"
	"testing"

	"github.com/265d0351/work"
)

// RunKind is [Run] of a job of a kind, whose args and result have their types. The result is the zero value unless the
// job is done.
func RunKind[A, R any](t testing.TB, pool *work.WorkerPool, kind *work.Kind[A, R], args A) (R, *Outcome) {
	t.Helper()
	var result R
	outcome := RunEntry(t, pool, kind.Entry(args))
	if _, none := any(result).(work.NoResult); !none && outcome.Ending == work.EndingDone {
		if err := json.Unmarshal(outcome.Result, &result); err != nil {
			t.Fatalf("worktest: the result %s of job %q does not fit a %T: %v", outcome.Result, kind.Name(), result,
				err)
		}
	}
	return result, outcome
}

// WantKind is a [Want] for a job of a kind with these args, to which more may be added.
func WantKind[A, R any](kind *work.Kind[A, R], args A) Want {
	return Want{Name: kind.Name(), Args: []any{args}}
}
