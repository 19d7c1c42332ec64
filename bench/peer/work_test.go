package peer

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFetchedCountsTheJobsOfEveryLot(t *testing.T) {
	t.Parallel()
	list := func(texts ...any) []any { return texts }
	answer := func(rounds ...any) []any {
		return append(list("ok", int64(1732100000000), nil, list(), int64(0), list()), rounds...)
	}
	round := func(ids ...any) []any { return list(list(int64(1), int64(len(ids))), ids, ids, nil, nil) }
	fetch := []string{"EVALSHA", fetchSHA, "2", "key", "key", "worker", "7", "10"}
	for name, row := range map[string]struct {
		request []string
		reply   any
		asked   bool
		jobs    int
	}{
		"several rounds":         {fetch, answer(round("a", "b", "c"), round("d")), true, 4},
		"by its source":          {append([]string{"eval", fetchSource}, fetch[2:]...), answer(round("a")), true, 1},
		"nothing":                {fetch, answer(), true, 0},
		"fenced":                 {fetch, list("fenced"), true, 0},
		"an error":               {fetch, "NOSCRIPT", true, 0},
		"a look without a fetch": {append(fetch[:7:7], "0"), answer(), false, 0},
		"no number of keys":      {append([]string{"EVALSHA", fetchSHA, "many"}, fetch[3:]...), answer(), false, 0},
		"cut off":                {fetch[:6], answer(), false, 0},
		"another script":         {append([]string{"EVALSHA", "0123"}, fetch[2:]...), answer(round("a")), false, 0},
		"another command":        {[]string{"BLPOP", fetchSHA, "1"}, nil, false, 0},
		"no script at all":       {[]string{"EVALSHA"}, nil, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, jobs := Work{}.Fetched(row.request, row.reply)
			assert.Equal(t, row.asked, asked)
			assert.Equal(t, row.jobs, jobs)
		})
	}
}
