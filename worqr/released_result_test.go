package worqr_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/worqr"
)

// results are those that the released program tells of a finished process: what it publishes, and the text of those
// that are strings. One that is false, 0, "" or null to it is none.
var results = map[string]struct {
	json string
	text any // nil if it is no string
}{
	"none":        {"", nil},
	"a string":    {`"s"`, "s"},
	"a number":    {`42`, nil},
	"an object":   {`{"k":1,"big":1234567890123456789}`, nil},
	"a list":      {`[1,"x"]`, nil},
	"true":        {`true`, nil},
	"not in UTF8": {`"\ufffd"`, "\ufffd"},
}

// TestResultsOfTheReleasedProgramAreRead whatever they are, and the task beside them.
func TestResultsOfTheReleasedProgramAreRead(t *testing.T) {
	t.Parallel()
	for name, result := range results {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				r := newReleased(s)
				r.startWorker("r", "q")
				told, err := s.producer().Watch(t.Context(), "q")
				require.NoError(t, err)
				s.enqueue("q", "a")
				process, _ := r.dequeue("r", "q", "0")
				r.finish("r", process, result.json)
				done := await(t, told, always[worqr.Done])
				assert.Equal(t, []string{"r", "a", result.json},
					[]string{done.Worker, string(done.Task), string(done.Result)})
				text, ok := done.Text()
				assert.Equal(t, result.text != nil, ok)
				if ok {
					assert.Equal(t, result.text, string(text))
				}
			})
		})
	}
}

// TestTheReleasedProgramReadsOurResults: those of FinishJSON are of the same kinds.
func TestTheReleasedProgramReadsOurResults(t *testing.T) {
	t.Parallel()
	for name, result := range results {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				options := s.options()
				options.WorkerID = "w"
				w := s.workerOf(options, "q")
				heard := s.hear("q", "done")
				s.enqueue("q", "a")
				want, told := `{"workerId":"w","task":"a"}`, result.json
				if told == "" {
					told = " null "
				} else {
					want = `{"workerId":"w","task":"a","result":` + told + `}`
				}
				require.NoError(t, s.start(w, "q").FinishJSON(t.Context(), []byte(told)))
				assert.Equal(t, want, <-heard)
			})
		})
	}
}

func TestAResultThatIsNoJSONIsRefused(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("q")
		s.enqueue("q", "a")
		p := s.start(w, "q")
		for _, result := range []string{"", "{", "text"} {
			require.ErrorAs(t, p.FinishJSON(t.Context(), []byte(result)), new(*worqr.InvalidError), result)
		}
		require.NoError(t, p.Finish(t.Context(), []byte("text")), "it is still there")
	})
}

// hear are the messages of one channel of a queue.
func (s *site) hear(queue, event string) <-chan string {
	s.t.Helper()
	heard, ready := make(chan string, 16), make(chan struct{})
	go func() {
		_ = s.driver.SubscribeAll(s.t.Context(), []string{s.prefix + "_" + queue + "_" + event},
			func() { close(ready) }, func(_ string, message []byte) { heard <- string(message) })
	}()
	<-ready
	return heard
}
