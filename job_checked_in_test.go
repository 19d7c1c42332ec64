package work

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

func TestEachCheckinAndProgressIsAnEvent(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.start(NewWorkerPool(nil, 1, k.options()).Job("long", func(job *Job) error {
			job.Checkin("row 1")
			job.Checkin(strings.Repeat("x", 1<<19))
			assert.NoError(t, job.Progress(map[string]int{"done": 1}))
			assert.Error(t, job.Progress(func() {}), "it is not told")
			job.Checkin("")
			return nil
		}))
		id := k.enqueue("long").ID
		await(t, k.spy, ofJob[event.JobDone](id))
		var said []event.JobCheckedIn
		for _, e := range seenBy(t, k.spy, id) {
			if e, ok := e.(event.JobCheckedIn); ok {
				assert.False(t, e.Begun.IsZero())
				said = append(said, event.JobCheckedIn{Message: e.Message, Progress: e.Progress})
			}
		}
		assert.Equal(t, []event.JobCheckedIn{
			{Message: "row 1"}, {Message: strings.Repeat("x", 1021) + "…"}, {Progress: json.RawMessage(`{"done":1}`)},
			{},
		}, said)
	})
}
