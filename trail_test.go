package work

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

func TestTheMorgueKeepsTheLastTenErrorsOfAJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).
			JobWithOptions("a", JobOptions{Retries: 12}, func(job *Job) error {
				return RetryIn(0, fmt.Errorf("failure %d", job.Attempt))
			}))
		k.enqueueAs("j", "a")
		k.do("HSET", "trail", "j", `{"fails":2,"errors":[{"attempt":1,"error":"one"},{"attempt":2,"error":"two"}]}`)
		buried := await(t, k.spy, ofJob[event.JobBuried]("j"))
		assert.Equal(t, 13, buried.Attempt)
		k.drained(pool)
		kept := k.trail("j")
		assert.Equal(t, 13, kept.Fails)
		assert.Equal(t, "out of retries", kept.Reason)
		require.Len(t, kept.Errors, 10)
		for i, failure := range kept.Errors {
			assert.Equal(t, i+4, failure.Attempt)
			assert.Contains(t, failure.Error, fmt.Sprintf("failure %d", i+4))
			assert.Equal(t, buried.Worker, failure.Worker)
			assert.WithinDuration(t, buried.Begun, time.UnixMilli(failure.At), patience)
		}
	})
}

func TestWhatIsKeptOfAnErrorIsBoundedUTF8(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"invalid": "a\xff\xfeb", "long": strings.Repeat("long ", 1<<20), "wide": strings.Repeat("日本", 1<<10),
		"nul": "a\x00b", "empty": "",
	}
	wanted := map[string]string{
		"invalid": "a\uFFFDb", "long": strings.Repeat("long ", 204) + "l…", "wide": strings.Repeat("日本", 170) + "…",
		"nul": "a\x00b", "empty": "",
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 1, k.options())
		for name, text := range texts {
			pool.JobWithOptions(name, JobOptions{Backoff: hourly}, func() error { return errors.New(text) })
			k.enqueueAs(name, name)
		}
		pool.JobWithOptions("panic", JobOptions{Backoff: hourly}, func() error { return deep(200) })
		k.enqueueAs("panic", "panic")
		k.start(pool)
		k.drained(pool)
		for name := range texts {
			t.Run(name, func(t *testing.T) { assert.Equal(t, wanted[name], k.trail(name).Errors[0].Error) })
		}
		stack := k.trail("panic").Errors[0].Stack
		assert.LessOrEqual(t, len(stack), 4<<10)
		assert.Contains(t, stack, "work.deep", "its first frames, where the panic was")
	})
}

func deep(n int) error {
	if n == 0 {
		panic("at the bottom")
	}
	return deep(n - 1)
}

func TestBoundMakesValidUTF8OfAtMostSoManyBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "text")) + rapid.StringN(0, 40, -1).Draw(t, "more")
		most := rapid.IntRange(3, 120).Draw(t, "most")
		got := bound(text, most)
		valid := strings.ToValidUTF8(text, "\uFFFD")
		require.True(t, utf8.ValidString(got))
		require.LessOrEqual(t, len(got), most)
		if len(valid) <= most {
			require.Equal(t, valid, got)
			return
		}
		require.True(t, strings.HasPrefix(valid, strings.TrimSuffix(got, "…")))
		require.True(t, strings.HasSuffix(got, "…"))
		require.Greater(t, len(got), most-utf8.UTFMax, "no more is cut than must be")
	})
}

func TestATrailThatCannotBeReadDoesNotStopTheJob(t *testing.T) {
	t.Parallel()
	trails := map[string]string{
		"not JSON": "{", "another type": `[1]`, "fields of other types": `{"fails":"3"}`, "a fraction": `{"fails":1.5}`,
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 1, k.options()).
			JobWithOptions("a", JobOptions{Backoff: hourly}, func() error { return errLuck })
		for name, text := range trails {
			k.enqueueAs(name, "a")
			k.do("HSET", "trail", name, text)
		}
		k.start(pool)
		k.drained(pool)
		for name := range trails {
			t.Run(name, func(t *testing.T) {
				kept := k.trail(name)
				require.Len(t, kept.Errors, 2)
				assert.Contains(t, kept.Errors[0].Error, "its earlier trail could not be read: ")
				assert.Equal(t, "no luck", kept.Errors[1].Error)
				assert.Equal(t, 1, kept.Fails)
				assert.Empty(t, kept.Reason)
			})
		}
	})
}

func TestCountsThatWereWrittenByHandDoNotOverflow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		attempts := map[string]int{}
		pool := NewWorkerPool(nil, 1, k.options()).
			JobWithOptions("a", JobOptions{Retries: 1<<63 - 1}, func(job *Job) error {
				attempts[job.ID] = job.Attempt
				return errLuck
			})
		for id, text := range map[string]string{"huge": `{"fails":9223372036854775807}`,
			"negative": `{"fails":-9223372036854775808}`} {
			k.enqueueAs(id, "a")
			k.do("HSET", "trail", id, text)
		}
		began := time.Now()
		k.start(pool)
		k.drained(pool)
		assert.Equal(t, map[string]int{"huge": 1<<30 + 1, "negative": 1}, attempts)
		assert.Greater(t, k.due("retry", "huge").Sub(began), 49*365*24*time.Hour)
		assert.Greater(t, k.due("retry", "negative").Sub(began), 14*time.Second)
	})
}
