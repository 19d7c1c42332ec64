package inspect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// searchAll reads all pages of a search, and returns the ids in their order.
func (k *kit) searchAll(selection inspect.Selection, opts inspect.SearchOptions) (ids []string, calls int) {
	k.T.Helper()
	through := 0
	for {
		page, err := k.hands().Search(k.Ctx(), selection, opts)
		require.NoError(k.T, err)
		calls++
		for _, job := range page.Jobs {
			ids = append(ids, job.ID)
		}
		require.LessOrEqual(k.T, page.Looked, inspect.MaxSearched)
		through += page.Looked
		require.Equal(k.T, through, page.Through)
		require.LessOrEqual(k.T, page.Through, page.Total)
		if opts.Cursor = page.Next; page.Next == "" {
			return ids, calls
		}
	}
}

// rewrite puts more into the record of a job.
func (k *kit) rewrite(id, fields string) {
	k.T.Helper()
	record := k.Text("HGET", "jobs", id)
	k.Do("HSET", "jobs", id, record[:len(record)-1]+","+fields+"}")
}

func TestSearchFindsWhatFits(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := map[work.State]string{}
		for _, state := range inspect.Searched {
			if state != work.StateRunning {
				ids[state] = k.standing(state, "a")
			}
		}
		other := k.standing(work.StateDead, "b")
		k.rewrite(other, `"tags":["red"],"key":"customer-42","source":7,"meta":{"shop":"north","by":"ann"}`)
		ids[work.StateRunning] = k.standing(work.StateQueued, "r")
		k.takes("hand", "r", 1)
		args, err := k.Enq.Enqueue(k.Ctx(), "c", "a text with Größe in it", 12345)
		require.NoError(t, err)
		cases := map[string]struct {
			selection inspect.Selection
			want      []string
		}{
			"all": {inspect.Selection{},
				[]string{ids[work.StateQueued], args.ID, ids[work.StateRunning], ids[work.StateScheduled],
					ids[work.StateRetrying], ids[work.StateStalled], ids[work.StateDead], other}},
			"of a name":          {inspect.Selection{Name: "b"}, []string{other}},
			"that run":           {inspect.Selection{State: work.StateRunning}, []string{ids[work.StateRunning]}},
			"of a name and run":  {inspect.Selection{State: work.StateRunning, Name: "a"}, nil},
			"scheduled":          {inspect.Selection{State: work.StateScheduled}, []string{ids[work.StateScheduled]}},
			"by tag":             {inspect.Selection{Tag: "red"}, []string{other}},
			"by key":             {inspect.Selection{Key: "customer-42"}, []string{other}},
			"by a part of a key": {inspect.Selection{Key: "customer"}, nil},
			"by source":          {inspect.Selection{Source: 7}, []string{other}},
			"by meta": {inspect.Selection{Meta: map[string]string{"shop": "north", "by": "ann"}},
				[]string{other}},
			"by too much meta": {inspect.Selection{Meta: map[string]string{"shop": "north", "by": "bob"}}, nil},
			"by no such meta":  {inspect.Selection{Meta: map[string]string{"till": ""}}, nil},
			"by args":          {inspect.Selection{ArgsText: "Größe in"}, []string{args.ID}},
			"by a number":      {inspect.Selection{ArgsText: "1234"}, []string{args.ID}},
			"by error": {inspect.Selection{ErrorText: "no luck"},
				[]string{ids[work.StateRetrying], ids[work.StateStalled], ids[work.StateDead], other}},
			"by a part of ids": {inspect.Selection{ID: args.ID[3:]}, []string{args.ID}},
			"by id":            {inspect.Selection{ID: other}, []string{other}},
			"by no such id":    {inspect.Selection{ID: "?"}, nil},
			"old": {inspect.Selection{OlderThan: 30 * time.Second},
				[]string{ids[work.StateStalled], ids[work.StateDead], other}},
			"of a time": {inspect.Selection{Since: time.Now().Add(-2 * time.Hour),
				Until: time.Now().Add(-30 * time.Second)},
				[]string{ids[work.StateStalled], ids[work.StateDead], other}},
			"of another time":    {inspect.Selection{Since: time.Now().Add(time.Hour)}, nil},
			"of an earlier time": {inspect.Selection{Until: time.Now().Add(-48 * time.Hour)}, nil},
			"text in args":       {inspect.Selection{Text: "Größe in"}, []string{args.ID}},
			"text in a tag":      {inspect.Selection{Text: "re", Name: "b"}, []string{other}},
			"text in metadata":   {inspect.Selection{Text: "north"}, []string{other}},
			"text in a key":      {inspect.Selection{Text: "customer"}, []string{other}},
			"text in an id":      {inspect.Selection{Text: other[4:]}, []string{other}},
			"text in errors": {inspect.Selection{Text: "no luck"},
				[]string{ids[work.StateRetrying], ids[work.StateStalled], ids[work.StateDead], other}},
			"text nowhere": {inspect.Selection{Text: "nor the"}, nil},
		}
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				found, _ := k.searchAll(c.selection, inspect.SearchOptions{})
				slices.Sort(found)
				slices.Sort(c.want)
				assert.Equal(t, c.want, found)
			})
		}
	})
}

func TestSearchGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	const many = 2600
	for _, newest := range []bool{false, true} {
		t.Run(fmt.Sprint("newest ", newest), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				k.crowd(work.StateQueued, many)
				for n := range many / 100 {
					id := fmt.Sprint("j", 100*n+50)
					k.rewrite(id, `"tags":["x"]`)
				}
				page, err := k.hands().Search(k.Ctx(), inspect.Selection{State: work.StateQueued, Tag: "x"},
					inspect.SearchOptions{Newest: newest, Limit: 500})
				require.NoError(t, err)
				assert.Equal(t, []int{20, 2000, 2000, many},
					[]int{len(page.Jobs), page.Looked, page.Through, page.Total})
				var want []string
				for n := range many / 100 {
					want = append(want, fmt.Sprint("j", 100*n+50))
				}
				if newest {
					slices.Reverse(want)
				}
				for limit, calls := range map[int]int{500: 2, 7: 4} {
					found, n := k.searchAll(inspect.Selection{State: work.StateQueued, Tag: "x"},
						inspect.SearchOptions{Newest: newest, Limit: limit})
					assert.Equal(t, want, found)
					assert.Equal(t, calls, n, "calls with a limit of %d", limit)
				}
				found, _ := k.searchAll(inspect.Selection{Tag: "x"}, inspect.SearchOptions{Newest: newest, Limit: 1})
				assert.Equal(t, want, found, "one by one")
			})
		})
	}
}

func TestSearchThroughManyQueues(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for n := range 30 {
			k.standing(work.StateQueued, fmt.Sprintf("q%02d", n))
		}
		k.crowd(work.StateDead, 40)
		found, _ := k.searchAll(inspect.Selection{}, inspect.SearchOptions{Limit: 3})
		assert.Len(t, found, 70)
		slices.Sort(found)
		assert.Len(t, slices.Compact(found), 70)

		// The place where it would go on is empty by then.
		page, err := k.hands().Search(k.Ctx(), inspect.Selection{State: work.StateQueued},
			inspect.SearchOptions{Limit: 7})
		require.NoError(t, err)
		for n := range 12 {
			name := fmt.Sprintf("q%02d", n)
			k.Do("RPOP", "queue:"+name)
		}
		page, err = k.hands().Search(k.Ctx(), inspect.Selection{State: work.StateQueued},
			inspect.SearchOptions{Limit: 1, Cursor: page.Next})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 1)
		assert.Equal(t, "q12", page.Jobs[0].Name)
	})
}

func TestSearchAnswersAnIDAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(work.StateDead, 2500)
		page, err := k.hands().Search(k.Ctx(), inspect.Selection{ID: "j12"}, inspect.SearchOptions{})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 1)
		assert.Equal(t, "j12", page.Jobs[0].ID)
		assert.Equal(t, 1, page.Looked)
		found, _ := k.searchAll(inspect.Selection{ID: "j12"}, inspect.SearchOptions{})
		slices.Sort(found)
		var want []string
		for _, id := range numbered(2500) {
			if strings.HasPrefix(id, "j12") {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		assert.Equal(t, want, found, "and those that have it as a part, none of them twice")

		ended := k.standing(work.StateSucceeded, "a")
		page, err = k.hands().Search(k.Ctx(), inspect.Selection{ID: ended}, inspect.SearchOptions{})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 1)
		assert.Equal(t, work.StateSucceeded, page.Jobs[0].State)
		page, err = k.hands().Search(k.Ctx(), inspect.Selection{ID: "j12", State: work.StateQueued},
			inspect.SearchOptions{})
		require.NoError(t, err)
		assert.Empty(t, page.Jobs, "it is dead")
		page, err = k.hands().Search(k.Ctx(), inspect.Selection{ID: "j12", Tag: "x"}, inspect.SearchOptions{})
		require.NoError(t, err)
		assert.Empty(t, page.Jobs, "it has no tag")
	})
}

func TestSearchEndsACallThatReadsTooMuch(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(work.StateDead, 60)
		for _, id := range numbered(60) {
			k.rewrite(id, `"meta":{"m":"`+strings.Repeat("x", 500_000)+`"}`)
		}
		page, err := k.hands().Search(k.Ctx(), inspect.Selection{Tag: "x"}, inspect.SearchOptions{})
		require.NoError(t, err)
		assert.Less(t, page.Looked, 60)
		assert.NotEmpty(t, page.Next)
		found, calls := k.searchAll(inspect.Selection{Tag: "x"}, inspect.SearchOptions{})
		assert.Empty(t, found)
		assert.Equal(t, 2, calls)
	})
}

func TestBulkSelectsByIDArgsAndMeta(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(work.StateDead, 20)
		k.rewrite("j3", `"meta":{"shop":"north"}`)
		k.Do("HSET", "jobs", "j4", `{"jid":"j4","name":"n","args":["a needle"],"t":1}`)
		for selection, want := range map[*inspect.Selection]int{
			{State: work.StateDead, ID: "j1"}:                                 11,
			{State: work.StateDead, ArgsText: "needle"}:                       1,
			{State: work.StateDead, Meta: map[string]string{"shop": "north"}}: 1,
			{State: work.StateDead, Meta: map[string]string{"shop": "south"}}: 0,
		} {
			report, err := k.hands().Bulk(k.Ctx(), *selection, inspect.ActionDelete, inspect.BulkOptions{DryRun: true})
			require.NoError(t, err)
			assert.Equal(t, want, report.Matched, "%+v", selection)
		}
	})
}

func TestSearchRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	k.crowd(work.StateDead, 10)
	next := func(selection inspect.Selection) string {
		page, err := k.hands().Search(k.Ctx(), selection, inspect.SearchOptions{Limit: 3})
		require.NoError(t, err)
		require.NotEmpty(t, page.Next)
		return page.Next
	}
	dead := next(inspect.Selection{State: work.StateDead})
	page, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: work.StateDead, Limit: 3})
	require.NoError(t, err)
	cases := map[string]struct {
		selection inspect.Selection
		opts      inspect.SearchOptions
		want      string
	}{
		"a state of no list": {inspect.Selection{State: work.StateLost}, inspect.SearchOptions{},
			"use StateQueued, StateRunning"},
		"an age below zero": {inspect.Selection{OlderThan: -1}, inspect.SearchOptions{}, "the age"},
		"a time that ends before it begins": {inspect.Selection{Since: time.Now(), Until: time.Now().Add(-time.Second)},
			inspect.SearchOptions{}, "Since of the selection"},
		"a name that cannot be": {inspect.Selection{Name: "a\n"}, inspect.SearchOptions{}, "name"},
		"too many":              {inspect.Selection{}, inspect.SearchOptions{Limit: 501}, "use 1 to 500"},
		"no cursor":             {inspect.Selection{}, inspect.SearchOptions{Cursor: "x"}, "the cursor"},
		"of another selection":  {inspect.Selection{}, inspect.SearchOptions{Cursor: dead}, "the cursor"},
		"of the other order": {inspect.Selection{State: work.StateDead},
			inspect.SearchOptions{Cursor: dead, Newest: true},
			"the cursor"},
		"of a page": {inspect.Selection{State: work.StateDead}, inspect.SearchOptions{Cursor: page.Next}, "the cursor"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := k.hands().Search(k.Ctx(), c.selection, c.opts)
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestSearchFindsWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(work.StateDead, 5)
		k.Do("HSET", "jobs", "j3", "{")
		page, err := k.hands().Search(k.Ctx(), inspect.Selection{Name: "n", State: work.StateDead},
			inspect.SearchOptions{})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 5)
		for _, job := range page.Jobs {
			assert.Equal(t, job.ID == "j3", job.Problem != "", job.ID)
		}
	})
}
