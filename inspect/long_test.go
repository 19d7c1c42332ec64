package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// TestWhatIsAskedForByHandInVainIsToldInShort has everything refused that can be, because of what is far too long.
func TestWhatIsAskedForByHandInVainIsToldInShort(t *testing.T) {
	t.Parallel()
	const longest = 8 << 10
	huge := strings.Repeat("long ", 200_000)
	names := make([]string, 10_000)
	for n := range names {
		names[n] = fmt.Sprintf("%0200d", n)
	}
	for _, err := range []error{
		&inspect.StateError{ID: huge, State: work.State(huge), What: huge, Wanted: make([]work.State, 1000)},
		&inspect.TooDeepError{ID: huge, Name: huge, What: huge},
	} {
		assert.LessOrEqual(t, len(err.Error()), longest, "%T", err)
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		ended, end := context.WithCancelCause(context.Background())
		end(errors.New(huge))
		only := func(err error) error { return err }
		for name, err := range map[string]error{
			"a spec":            only(i.AddSchedule(k.Ctx(), huge, "a", work.PeriodicOptions{})),
			"a zone":            only(i.AddSchedule(k.Ctx(), "@daily", "a", work.PeriodicOptions{TZ: huge})),
			"a schedule":        only(i.PauseSchedule(k.Ctx(), huge)),
			"a job":             last(i.Job(k.Ctx(), huge)),
			"jobs":              last(i.Jobs(k.Ctx(), append(slices.Clone(names), huge)...)),
			"a worker":          last(i.Worker(k.Ctx(), huge)),
			"a queue":           last(i.Queue(k.Ctx(), huge)),
			"queues to pause":   only(i.PauseQueue(k.Ctx(), append(slices.Clone(names[:1_000]), huge)...)),
			"a wait for queues": only(i.PauseAndWait(ended, names...)),
			"a limit":           only(i.SetLimit(k.Ctx(), huge, work.Limit{Concurrent: -1})),
		} {
			if assert.Error(t, err, name) {
				assert.LessOrEqual(t, len(err.Error()), longest, "%s: %.100s", name, err.Error())
			}
		}
	})
}

func last[T any](_ T, err error) error { return err }
