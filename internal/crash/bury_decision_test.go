package crash

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestWhatIsReadOfCrashes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text    string
		workers []string
		token   int64
	}{
		"nothing":             {"", nil, 0},
		"a death that counts": {"w1@1000:250:1:2:3:4:77", []string{"w1"}, 77},
		"one that does not":   {"?w1:88", nil, 88},
		"a begin":             {"+w1:5:1234", nil, 0},
		"all of them": {"w1@1000:250:1:2:3:4:77 w2@2000:1:1:1:1:1:99 ?w3:98 +w4:5:1234",
			[]string{"w1", "w2"}, 99},
		"of an earlier version":     {"w1 w2", []string{"w1", "w2"}, 0},
		"an id with a sign in it":   {"a@b@1000:250:1:2:3:4:77", []string{"a@b"}, 77},
		"of which little is known":  {"w1@1000", []string{"w1"}, 0},
		"what is no number":         {"w1@x:y:z:a:b:c:d", []string{"w1"}, 0},
		"a doubt without its token": {"?", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record := Read(tt.text)
			assert.Equal(t, tt.workers, record.Workers())
			assert.Equal(t, tt.token, record.token)
			assert.Equal(t, tt.token+1, record.TokenOf(0), "the next claim has a larger one, whatever the clock says")
			assert.Equal(t, tt.token+1000, record.TokenOf(tt.token+1000),
				"it is the time of the fetch where that is later")
		})
	}
}

// How long a job ran in a worker that died is told apart from the time that counts against it; where it is not, as
// earlier versions wrote, it is not known.
func TestDeathsTellHowLongTheJobItselfRan(t *testing.T) {
	t.Parallel()
	record := Read("w1@1000:750.250:1:2:3:4:77 w2@2000:750:1:2:3:4:78 w3@3000:300.0:1:2:3:4:79 w4")
	assert.Equal(t, []Death{{Worker: "w1", At: 1000, Ran: 250}, {Worker: "w2", At: 2000}, {Worker: "w3", At: 3000},
		{Worker: "w4"}}, record.Deaths())
	for i, ran := range []float64{750.25, 750, 300, 0} {
		assert.InDelta(t, ran, record.counted[i].ran, 1e-9)
	}
}

// deaths are so many crashes of a job, each after it ran for a time, in a fleet in which as many other workers died in
// each window.
func deaths(n int, ran time.Duration, others, workers int) Record {
	record := Record{}
	for i := range n {
		c := crash{worker: "w", died: int64(i) * 10_000_000, ran: float64(ran.Milliseconds()), workers: workers}
		for w := range c.deaths {
			c.deaths[w] = others + 1 // this one as well
		}
		record.counted = append(record.counted, c)
	}
	return record
}

func TestAJobIsBuriedForWhatChanceDoesNotExplain(t *testing.T) {
	t.Parallel()
	poison := deaths(3, 100*time.Millisecond, 0, 10)
	assert.True(t, poison.ShouldBury(3), "nothing else dies")
	fewer := deaths(2, 100*time.Millisecond, 0, 10)
	assert.False(t, fewer.ShouldBury(3), "too few, however unlikely")
	unlucky := deaths(3, 30*time.Second, 50, 10)
	assert.False(t, unlucky.ShouldBury(3), "workers die all the time, and it runs for long")
	hopeless := deaths(12, 30*time.Second, 50, 10)
	assert.True(t, hopeless.ShouldBury(3), "four times as many: it never comes to its end")
	nearly := deaths(11, time.Hour, 500, 2)
	assert.False(t, nearly.ShouldBury(3), "one fewer")
	older := Read("w1 w2 w3")
	assert.True(t, older.ShouldBury(3), "of an earlier version nothing else is known")
}

func TestTheChanceOfDeathsIsThatOfPoisson(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n        int
		expected float64
		want     float64
	}{
		{1, 1, 0.6321205588}, {3, 1, 0.0803013971}, {3, 0.001, 1.665417e-10}, {2, 10, 0.9995006007}, {1, 1e-12, 1e-12},
		{1, 0, 0},
	} {
		assert.InEpsilon(t, 1+tt.want, 1+chanceOf(tt.n, tt.expected), 1e-9)
		if tt.want > 0 {
			assert.InEpsilon(t, tt.want, chanceOf(tt.n, tt.expected), 1e-5, "%d where %v are expected", tt.n,
				tt.expected)
		}
	}
	many := Read(strings.Repeat("w ", 1000))
	assert.True(t, many.ShouldBury(3))
}
