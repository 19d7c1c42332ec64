package work

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// told waits until Redis shows that message and progress of a job.
func (k *kit) told(id, message, progress string) {
	k.t.Helper()
	key := "worker:" + await[event.WorkerStarted](k.t, k.spy, nil).Worker + ":running"
	k.until(message+" "+progress, func() bool {
		_, text, _ := strings.Cut(k.text("HGET", key, id), " ")
		said, value := decodeCheckin(text)
		return said == message && string(value) == progress
	})
}

func TestProgressIsVisibleBesideTheMessage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		steps := make(chan func(*Job))
		k.start(NewWorkerPool(nil, 1, k.options()).Job("long", func(job *Job) error {
			for step := range steps {
				step(job)
			}
			return nil
		}))
		id := k.enqueue("long").ID
		step := func(do func(*Job)) { steps <- do }
		step(func(job *Job) { assert.NoError(t, job.Progress(map[string]any{"done": 1, "of": "\x00ü"})) })
		k.told(id, "", `{"done":1,"of":"\u0000ü"}`)
		step(func(job *Job) { job.Checkin("half\x00 of it") })
		k.told(id, "half\x00 of it", `{"done":1,"of":"\u0000ü"}`)
		step(func(job *Job) { assert.NoError(t, job.Progress(0.75)) })
		k.told(id, "half\x00 of it", "0.75")
		var invalid *InvalidError
		step(func(job *Job) { assert.ErrorAs(t, job.Progress(strings.Repeat("x", 4<<10)), &invalid) })
		step(func(job *Job) { assert.ErrorContains(t, job.Progress(make(chan int)), "unsupported type") })
		step(func(job *Job) { job.Checkin("") })
		k.told(id, "", "0.75")
		close(steps)
		k.visible(id, "")
	})
}

func TestACheckinOfTwoPartsIsTakenApartAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ message, progress, text string }{
		"a message":                        {"row 1", "", "row 1"},
		"nothing":                          {"", "", ""},
		"a message with NUL":               {"a\x00b", "", "a\x00b"},
		"a message that begins with NUL":   {"\x00{}\x00b", "", "\x00\x00\x00{}\x00b"},
		"a message that is NUL":            {"\x00", "", "\x00\x00\x00"},
		"a progress":                       {"", `{"a":1}`, "\x00{\"a\":1}\x00"},
		"both":                             {"row 1", "0.5", "\x000.5\x00row 1"},
		"a progress of null":               {"x", "null", "\x00null\x00x"},
		"both, and a message that is like": {"\x001\x00", "2", "\x002\x00\x001\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.text, encodeCheckin(tt.message, tt.progress))
			message, progress := decodeCheckin(tt.text)
			assert.Equal(t, tt.message, message)
			assert.Equal(t, tt.progress, string(progress))
		})
	}
	t.Run("what another program wrote", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]string{"\x00": "\x00", "\x00no json\x00x": "x", "\x00{}": "\x00{}"} {
			message, progress := decodeCheckin(text)
			assert.Equal(t, want, message)
			assert.Nil(t, progress)
		}
	})
}

func FuzzCheckins(f *testing.F) {
	f.Add("row 1", "{}")
	f.Add("\x00\x00", "")
	f.Fuzz(func(t *testing.T, message, progress string) {
		decodeCheckin(message) // whatever stands there
		if progress != "" && (!json.Valid([]byte(progress)) || strings.Contains(progress, "\x00")) {
			return
		}
		said, value := decodeCheckin(encodeCheckin(message, progress))
		require.Equal(t, message, said)
		require.Equal(t, progress, string(value))
	})
}
