package worqr_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/worqr"
)

// TestAnIdleWorkerFindsWhatTheReleasedProgramPutsBack without a word, in each way that it has.
func TestAnIdleWorkerFindsWhatTheReleasedProgramPutsBack(t *testing.T) {
	t.Parallel()
	for name, putBack := range map[string]func(s *site, r released, process string){
		"stop":        func(_ *site, r released, process string) { r.stop(process) },
		"stop work":   func(_ *site, r released, _ string) { r.stopWork("r", "q") },
		"fail worker": func(_ *site, r released, _ string) { r.failWorker("r") },
		"cleanup of a killed one": func(s *site, r released, _ string) {
			s.lapse("r") // nobody renews it
			r.cleanup()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				r := newReleased(s)
				r.startWorker("r", "q")
				s.enqueue("q", "a")
				process, task := r.dequeue("r", "q", "0")
				require.Equal(t, "a", task)
				looked := make(chan struct{})
				once := sync.OnceFunc(func() { close(looked) })
				options := s.options()
				options.LookEvery = 50 * time.Millisecond
				w := s.hooked(options, &hooks{after: func(name string) error {
					if name == "worqr/start" {
						once()
					}
					return nil
				}})
				require.NoError(t, w.Start(t.Context()))
				done := make(chan string, 1)
				stop := serve(t, w, func(_ context.Context, p *worqr.Process) ([]byte, error) {
					done <- string(p.Task)
					return nil, nil
				})
				<-looked // and nothing waited
				putBack(s, r, process)
				assert.Equal(t, "a", <-done)
				require.NoError(t, stop())
				assert.Empty(t, s.waiting("q"))
			})
		})
	}
}
