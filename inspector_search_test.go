package work

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// searchAll reads all pages of a search, and returns the ids in their order.
func (k *kit) searchAll(selection Selection, opts SearchOptions) (ids []string, calls int) {
	k.t.Helper()
	through := 0
	for {
		page, err := k.hands().Search(k.ctx(), selection, opts)
		require.NoError(k.t, err)
		calls++
		for _, job := range page.Jobs {
			ids = append(ids, job.ID)
		}
		require.LessOrEqual(k.t, page.Looked, maxSearched)
		through += page.Looked
		require.Equal(k.t, through, page.Through)
		require.LessOrEqual(k.t, page.Through, page.Total)
		if opts.Cursor = page.Next; page.Next == "" {
			return ids, calls
		}
	}
}

// rewrite puts more into the record of a job.
func (k *kit) rewrite(id, fields string) {
	k.t.Helper()
	record := k.text("HGET", "jobs", id)
	k.do("HSET", "jobs", id, record[:len(record)-1]+","+fields+"}")
}

func TestSearchFindsWhatFits(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := map[State]string{}
		for _, state := range searched {
			if state != StateRunning {
				ids[state] = k.standing(state, "a")
			}
		}
		other := k.standing(StateDead, "b")
		k.rewrite(other, `"tags":["red"],"source":7,"meta":{"shop":"north","by":"ann"}`)
		ids[StateRunning] = k.standing(StateQueued, "r")
		k.takes("hand", "r", 1)
		args, err := k.enq.Enqueue(k.ctx(), "c", "a text with Größe in it", 12345)
		require.NoError(t, err)
		cases := map[string]struct {
			selection Selection
			want      []string
		}{
			"all": {Selection{},
				[]string{ids[StateQueued], args.ID, ids[StateRunning], ids[StateScheduled], ids[StateRetrying],
					ids[StateStalled], ids[StateDead], other}},
			"of a name":         {Selection{Name: "b"}, []string{other}},
			"that run":          {Selection{State: StateRunning}, []string{ids[StateRunning]}},
			"of a name and run": {Selection{State: StateRunning, Name: "a"}, nil},
			"scheduled":         {Selection{State: StateScheduled}, []string{ids[StateScheduled]}},
			"by tag":            {Selection{Tag: "red"}, []string{other}},
			"by source":         {Selection{Source: 7}, []string{other}},
			"by meta":           {Selection{Meta: map[string]string{"shop": "north", "by": "ann"}}, []string{other}},
			"by too much meta":  {Selection{Meta: map[string]string{"shop": "north", "by": "bob"}}, nil},
			"by no such meta":   {Selection{Meta: map[string]string{"till": ""}}, nil},
			"by args":           {Selection{ArgsText: "Größe in"}, []string{args.ID}},
			"by a number":       {Selection{ArgsText: "1234"}, []string{args.ID}},
			"by error": {Selection{ErrorText: "no luck"},
				[]string{ids[StateRetrying], ids[StateStalled], ids[StateDead], other}},
			"by a part of ids": {Selection{ID: args.ID[3:]}, []string{args.ID}},
			"by id":            {Selection{ID: other}, []string{other}},
			"by no such id":    {Selection{ID: "?"}, nil},
			"old": {Selection{OlderThan: 30 * time.Second},
				[]string{ids[StateStalled], ids[StateDead], other}},
		}
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				found, _ := k.searchAll(c.selection, SearchOptions{})
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
				k.crowd(StateQueued, many)
				for n := range many / 100 {
					id := fmt.Sprint("j", 100*n+50)
					k.rewrite(id, `"tags":["x"]`)
				}
				page, err := k.hands().Search(k.ctx(), Selection{State: StateQueued, Tag: "x"},
					SearchOptions{Newest: newest, Limit: 500})
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
					found, n := k.searchAll(Selection{State: StateQueued, Tag: "x"},
						SearchOptions{Newest: newest, Limit: limit})
					assert.Equal(t, want, found)
					assert.Equal(t, calls, n, "calls with a limit of %d", limit)
				}
				found, _ := k.searchAll(Selection{Tag: "x"}, SearchOptions{Newest: newest, Limit: 1})
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
			k.standing(StateQueued, fmt.Sprintf("q%02d", n))
		}
		k.crowd(StateDead, 40)
		found, _ := k.searchAll(Selection{}, SearchOptions{Limit: 3})
		assert.Len(t, found, 70)
		slices.Sort(found)
		assert.Len(t, slices.Compact(found), 70)

		// The place where it would go on is empty by then.
		page, err := k.hands().Search(k.ctx(), Selection{State: StateQueued}, SearchOptions{Limit: 7})
		require.NoError(t, err)
		for n := range 12 {
			name := fmt.Sprintf("q%02d", n)
			k.do("RPOP", "queue:"+name)
		}
		page, err = k.hands().Search(k.ctx(), Selection{State: StateQueued}, SearchOptions{Limit: 1, Cursor: page.Next})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 1)
		assert.Equal(t, "q12", page.Jobs[0].Name)
	})
}

func TestSearchAnswersAnIDAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(StateDead, 2500)
		page, err := k.hands().Search(k.ctx(), Selection{ID: "j12"}, SearchOptions{})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 1)
		assert.Equal(t, "j12", page.Jobs[0].ID)
		assert.Equal(t, 1, page.Looked)
		found, _ := k.searchAll(Selection{ID: "j12"}, SearchOptions{})
		slices.Sort(found)
		var want []string
		for _, id := range numbered(2500) {
			if strings.HasPrefix(id, "j12") {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		assert.Equal(t, want, found, "and those that have it as a part, none of them twice")

		ended := k.standing(StateSucceeded, "a")
		page, err = k.hands().Search(k.ctx(), Selection{ID: ended}, SearchOptions{})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 1)
		assert.Equal(t, StateSucceeded, page.Jobs[0].State)
		page, err = k.hands().Search(k.ctx(), Selection{ID: "j12", State: StateQueued}, SearchOptions{})
		require.NoError(t, err)
		assert.Empty(t, page.Jobs, "it is dead")
		page, err = k.hands().Search(k.ctx(), Selection{ID: "j12", Tag: "x"}, SearchOptions{})
		require.NoError(t, err)
		assert.Empty(t, page.Jobs, "it has no tag")
	})
}

func TestSearchEndsACallThatReadsTooMuch(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(StateDead, 60)
		for _, id := range numbered(60) {
			k.rewrite(id, `"meta":{"m":"`+strings.Repeat("x", 500_000)+`"}`)
		}
		page, err := k.hands().Search(k.ctx(), Selection{Tag: "x"}, SearchOptions{})
		require.NoError(t, err)
		assert.Less(t, page.Looked, 60)
		assert.NotEmpty(t, page.Next)
		found, calls := k.searchAll(Selection{Tag: "x"}, SearchOptions{})
		assert.Empty(t, found)
		assert.Equal(t, 2, calls)
	})
}

func TestBulkSelectsByIDArgsAndMeta(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(StateDead, 20)
		k.rewrite("j3", `"meta":{"shop":"north"}`)
		k.do("HSET", "jobs", "j4", `{"jid":"j4","name":"n","args":["a needle"],"t":1}`)
		for selection, want := range map[*Selection]int{
			{State: StateDead, ID: "j1"}:                                 11,
			{State: StateDead, ArgsText: "needle"}:                       1,
			{State: StateDead, Meta: map[string]string{"shop": "north"}}: 1,
			{State: StateDead, Meta: map[string]string{"shop": "south"}}: 0,
		} {
			report, err := k.hands().Bulk(k.ctx(), *selection, ActionDelete, BulkOptions{DryRun: true})
			require.NoError(t, err)
			assert.Equal(t, want, report.Matched, "%+v", selection)
		}
	})
}

func TestSearchRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	k.crowd(StateDead, 10)
	next := func(selection Selection) string {
		page, err := k.hands().Search(k.ctx(), selection, SearchOptions{Limit: 3})
		require.NoError(t, err)
		require.NotEmpty(t, page.Next)
		return page.Next
	}
	dead := next(Selection{State: StateDead})
	page, err := k.hands().Page(k.ctx(), PageOptions{State: StateDead, Limit: 3})
	require.NoError(t, err)
	cases := map[string]struct {
		selection Selection
		opts      SearchOptions
		want      string
	}{
		"a state that has ended": {Selection{State: StateSucceeded}, SearchOptions{}, "use StateQueued, StateRunning"},
		"an age below zero":      {Selection{OlderThan: -1}, SearchOptions{}, "the age"},
		"a name that cannot be":  {Selection{Name: "a\n"}, SearchOptions{}, "name"},
		"too many":               {Selection{}, SearchOptions{Limit: 501}, "use 1 to 500"},
		"no cursor":              {Selection{}, SearchOptions{Cursor: "x"}, "the cursor"},
		"of another selection":   {Selection{}, SearchOptions{Cursor: dead}, "the cursor"},
		"of the other order": {Selection{State: StateDead}, SearchOptions{Cursor: dead, Newest: true},
			"the cursor"},
		"of a page": {Selection{State: StateDead}, SearchOptions{Cursor: page.Next}, "the cursor"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := k.hands().Search(k.ctx(), c.selection, c.opts)
			var invalid *InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestSearchFindsWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.crowd(StateDead, 5)
		k.do("HSET", "jobs", "j3", "{")
		page, err := k.hands().Search(k.ctx(), Selection{Name: "n", State: StateDead}, SearchOptions{})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 5)
		for _, job := range page.Jobs {
			assert.Equal(t, job.ID == "j3", job.Problem != "", job.ID)
		}
	})
}
