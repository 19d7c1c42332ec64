package replicas

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// A question is about calls that want as many replicas, and not about too many; while one is under way the next comes
// later by a witness' share of what an answer takes.
func TestWhatAQuestionIsAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{})
		stand := func(calls, replicas int) {
			for range calls {
				c.line = append(c.line, &waiting{Call: Call{Replicas: replicas}})
			}
		}
		stand(1, 2)
		stand(mostCalls+1, 1)
		stand(1, 2)
		cut := func() (calls, replicas int, pause time.Duration) {
			batch, pause := c.cut()
			for _, w := range batch {
				assert.Equal(t, batch[0].Replicas, w.Replicas)
				replicas = w.Replicas
			}
			return len(batch), replicas, pause
		}
		want := func(calls, replicas int, pause time.Duration) {
			t.Helper()
			gotCalls, gotReplicas, gotPause := cut()
			assert.Equal(t, []any{calls, replicas, pause}, []any{gotCalls, gotReplicas, gotPause})
		}
		want(2, 2, 0)
		c.took = mostWitnesses * time.Second
		c.witnesses = mostWitnesses // none is hired
		want(0, 0, time.Second)
		time.Sleep(time.Second)
		want(mostCalls, 1, 0)
		c.asking = 0 // nothing is under way: nobody waits
		want(1, 1, 0)
		want(0, 0, 0)
	})
}
