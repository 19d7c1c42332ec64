package stopped_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/stopped"
)

func TestATextIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	w := stopped.Of(map[string]string{"host": "h {", "pid": "7", "service": "s", "version": "v", "go": "go1",
		"started": "5", rdb.InfoRan: `{"done":3,"names":[{"name":"a","done":3}],"left_out":2}`}, stopped.Ordered)
	w.Ended, w.Held = 9, stopped.Held{Jobs: 1, Some: []stopped.Job{{ID: "x", Name: "a"}}}
	got, err := stopped.Decode(w.Encode())
	require.NoError(t, err)
	assert.Equal(t, w, got)
	assert.Equal(t, stopped.Ordered, got.Why)
	assert.Equal(t, stopped.Ran{Counts: stopped.Counts{Done: 3}, LeftOut: 2,
		Names: []stopped.Name{{Name: "a", Counts: stopped.Counts{Done: 3}}}}, got.Ran)

	assert.Equal(t, "died {}", stopped.Of(nil, stopped.Died).Encode(), "as declare_alive.lua expects it to begin")
	for _, text := range []string{"", "died", "died {", "{}"} {
		_, err := stopped.Decode(text)
		assert.Error(t, err, text)
	}
	odd := stopped.Of(map[string]string{"pid": "x", rdb.InfoRan: "["}, stopped.Died)
	assert.Equal(t, stopped.Worker{Why: stopped.Died}, odd, "what cannot be read is left out")
}

func TestLongNamesAndIDsAreLeftOut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 1000)
	var c stopped.Counter
	for n := range 25 {
		c.Count([]history.Attempt{{Name: fmt.Sprint(n, long), Result: history.Done}})
	}
	assert.Less(t, len(c.News(time.Now())), 8<<10)
	w := stopped.Worker{Why: stopped.Died, Ran: c.Ran()}
	w.Held.Jobs = 30
	for range stopped.MostHeld {
		w.Held.Some = append(w.Held.Some, stopped.Job{ID: long})
	}
	assert.Less(t, len(w.Encode()), 9<<10)
	got, err := stopped.Decode(w.Encode())
	require.NoError(t, err)
	assert.NotEmpty(t, got.Ran.Names)
	assert.Equal(t, 25, len(got.Ran.Names)+got.Ran.LeftOut)
	assert.Equal(t, 30, got.Held.Jobs)
}

func TestACounterTellsTheMostFirst(t *testing.T) {
	t.Parallel()
	var c stopped.Counter
	assert.Zero(t, c.Ran())
	for n := range 25 {
		attempts := make([]history.Attempt, n+1)
		for i := range attempts {
			attempts[i] = history.Attempt{Name: fmt.Sprint("name ", n), Result: history.Done}
		}
		c.Count(attempts)
	}
	begun := time.Now()
	c.Count([]history.Attempt{
		{Name: "name 24", Result: history.Failed, Error: "x", Begun: begun},
		{Name: "name 23", Result: history.Dead, Error: "x", Begun: begun},
		{Name: "name 23", Result: history.Dead, Error: "too late"},
	})
	ran := c.Ran()
	assert.Equal(t, stopped.Counts{Done: 325, Failed: 3, Dead: 2}, ran.Counts, "whoever died has failed")
	require.Len(t, ran.Names, stopped.MostNames)
	assert.Equal(t, 5, ran.LeftOut)
	assert.Equal(t, stopped.Name{Name: "name 23", Counts: stopped.Counts{Done: 24, Failed: 2, Dead: 2}}, ran.Names[0])
	assert.Equal(t, stopped.Name{Name: "name 24", Counts: stopped.Counts{Done: 25, Failed: 1}}, ran.Names[1])
}

// An idle worker tells nothing, and a busy one every five seconds.
func TestWhatWasRunIsToldNowAndThen(t *testing.T) {
	t.Parallel()
	var c stopped.Counter
	now := time.Now()
	done := []history.Attempt{{Name: "a", Result: history.Done}}
	assert.Empty(t, c.News(now))
	c.Untold()
	assert.Empty(t, c.News(now), "nothing was run")
	c.Count(nil)
	assert.Empty(t, c.News(now))
	c.Count(done)
	assert.JSONEq(t, `{"done":1,"names":[{"name":"a","done":1}]}`, c.News(now), "the first at once")
	assert.Empty(t, c.News(now.Add(time.Hour)), "nothing has changed")
	c.Count(done)
	c.Count(done)
	assert.Empty(t, c.News(now.Add(4*time.Second)))
	assert.Contains(t, c.News(now.Add(5*time.Second)), `"done":3,`)
	c.Untold()
	assert.Contains(t, c.News(now.Add(5*time.Second)), `"done":3,`, "the answer was lost")
}
