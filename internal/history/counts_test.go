package history_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/history"
)

// TestWhatIsStoredIsReadAgain: what a worker writes, an inspector reads.
func TestWhatIsStoredIsReadAgain(t *testing.T) {
	t.Parallel()
	p := history.Counts{Done: 3, Failed: 1, Dead: 2, Gap: 90*time.Second + 5*time.Microsecond}
	for i := range 6 {
		p.Run.Add(time.Duration(i)*time.Second + 400)
		p.Waited.Add(time.Millisecond << (4 * i))
	}
	want, left := p, p.Run.Sum%time.Microsecond
	want.Run.Sum -= left
	stored := p.Take()
	assert.Equal(t, history.Counts{Run: history.Durations{Sum: left}}, p,
		"what is less than a microsecond stays for the next time")
	assert.Equal(t, want, history.Parse(stored))
	assert.Equal(t,
		"d:3 f:1 m:2 g:90000005 r:15000002 r0:1 r10:1 r11:1 r12:2 r13:1 w:1118481000 w0:1 w4:1 w8:1 w12:1 w16:1 w20:1",
		stored)
}

// TestWhatIsNotKnownIsLeftOut: another version, or a hand, may have written it.
func TestWhatIsNotKnownIsLeftOut(t *testing.T) {
	t.Parallel()
	p := history.Parse("d:1 d2:7 z:9 r25:1 r-1:1 rx:1 f:-3 f:x m w0:99999999999999999999 : r:9223372036854775807")
	assert.Equal(t, history.Counts{Done: 1, Run: history.Durations{Sum: math.MaxInt64 / 1000 * 1000}}, p)
}

func FuzzParse(f *testing.F) {
	f.Add("d:12 f:1 r:48211 r0:12 r3:1 w:900 w0:13")
	f.Add("r99999999999:1 : :: d:9223372036854775807 d:9223372036854775807")
	f.Fuzz(func(t *testing.T, stored string) {
		p := history.Parse(stored)
		assert.GreaterOrEqual(t, p.Run.Sum, time.Duration(0))
	})
}
