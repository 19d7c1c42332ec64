package middleware

import (
	"context"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestStackOfTellsJobsApart: many jobs of one name run at a time, and an id may stand under two names.
func TestStackOfTellsJobsApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ job, id string }{
		"another id": {"apart", "2"}, "another name": {"other", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := name // of the wanted one; no other subtest has it
			other := pprof.Labels("job", c.job, "id", c.id)
			if c.id == "1" {
				other = pprof.Labels("job", c.job, "id", id)
			}
			goOn := make(chan struct{})
			var running, began sync.WaitGroup
			began.Add(2)
			for _, labels := range []pprof.LabelSet{pprof.Labels("job", "apart", "id", id), other} {
				running.Go(func() {
					pprof.Do(context.Background(), labels, func(context.Context) { began.Done(); <-goOn })
				})
			}
			began.Wait()
			found := stackOf("apart", id)
			close(goOn)
			running.Wait()
			assert.Contains(t, found, "middleware.TestStackOfTellsJobsApart", "its goroutine, wherever it has got to")
			assert.Len(t, strings.Split(found, "\n\n"), 1, "and no other")
			assert.Empty(t, stackOf("nobody's", id))
		})
	}
}
