package inspect

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// The bounds of one Search.
const (
	maxSearched      = 2000
	maxSearchedBytes = 16 << 20
)

// SearchOptions says how [Inspector.Search] goes about it.
type SearchOptions struct {
	Cursor string // SearchPage.Next of the call before; "" is the beginning
	Limit  int    // of jobs that are found; 0 is 50, at most 500
	Newest bool   // of each state, and of each queue, the newest first
	Ended  bool   // with State "": behind all others also the jobs that have ended and are kept
}

// SearchPage is what one Search has found.
type SearchPage struct {
	Jobs    []*JobInfo `json:"jobs"`
	Next    string     `json:"next,omitzero"` // to go on with; "" when all were looked at
	Looked  int        `json:"looked"`        // records that this call has looked at
	Through int        `json:"through"`       // records that this call and those before it have looked at,
	Total   int        `json:"total"`         // of about so many
}

// Search looks through jobs, at most 2,000 records or 16 MiB of them in one call: a page may be empty and not be the
// last. With State "" it goes through the queues by name, and then through what runs, is scheduled, to be retried,
// stalled and dead; behind these through jobs that have ended, where Ended asks for them. An ID that is the whole id of
// a job is answered at once with that one; the next page goes on with those that have it as a part. Jobs that stay
// where they are come exactly once; one that goes from place to place meanwhile may be missed. A selection or an option
// that cannot be, a bad cursor among them, is an *[work.InvalidError].
func (i *Inspector) Search(ctx context.Context, selection Selection, opts SearchOptions) (SearchPage, error) {
	s := search{Inspector: i, selection: selection, opts: opts, missing: map[int]error{}}
	if i.unusable != nil {
		return SearchPage{}, i.unusable
	}
	if err := s.validate(); err != nil {
		return SearchPage{}, err
	}
	s.of = i.everywhere(ctx)
	s.run(ctx)
	err := s.failure()
	if partial := (*PartialError)(nil); err != nil && !errors.As(err, &partial) {
		return SearchPage{}, fmt.Errorf("the search has failed after %d records: %w", s.page.Through, err)
	}
	return s.page, noted(ctx, err)
}

// search is one Search under way.
type search struct {
	*Inspector
	of        scope
	selection Selection
	opts      SearchOptions

	cursor  searchCursor
	places  []place
	found   []listedJob
	bytes   int
	page    SearchPage
	missing map[int]error // why a partition is not searched any more
}

// failure says which partitions are missing.
func (s *search) failure() error {
	answers := make([]answer[struct{}], len(s.of.views))
	for n, v := range s.of.views {
		answers[n].from, answers[n].err = v, s.missing[v.partition]
	}
	return failure(answers)
}

func (s *search) validate() error {
	if err := s.selection.validateFor(slices.Concat(searched, endedStates)); err != nil {
		return err
	}
	if s.opts.Limit < 0 || s.opts.Limit > maxPage {
		return &work.InvalidError{What: "the limit of the search", Value: strconv.Itoa(s.opts.Limit),
			Remedy: "use 1 to 500, or 0 for 50"}
	}
	if s.opts.Limit == 0 {
		s.opts.Limit = defaultPage
	}
	if s.opts.Cursor == "" {
		return nil
	}
	if err := decodeCursor(s.opts.Cursor, &s.cursor); err != nil {
		return err
	}
	c := &s.cursor
	if c.Search != s.digest() || c.Newest != s.opts.Newest || s.selection.State != "" && c.State != s.selection.State {
		return badCursor(s.opts.Cursor, errOtherCursor)
	}
	if !slices.Contains(s.states(), c.State) || c.Through < 0 || c.At < 0 {
		return badCursor(s.opts.Cursor, errOtherCursor)
	}
	if err := c.Mark.validate(c.State); err != nil {
		return badCursor(s.opts.Cursor, err)
	}
	s.page.Through = c.Through
	return nil
}

// digest tells searches apart.
func (s *search) digest() string {
	plain, _ := json.Marshal(s.selection) // texts and numbers: cannot fail
	if s.opts.Ended {
		plain = append(plain, "and ended"...)
	}
	sum := sha256.Sum256(plain)
	return hex.EncodeToString(sum[:8])
}

// states are those that are searched, in order.
func (s *search) states() []work.State {
	switch {
	case s.selection.State != "":
		return []work.State{s.selection.State}
	case s.opts.Ended:
		return slices.Concat(searched, endedStates)
	}
	return searched
}

func (s *search) run(ctx context.Context) {
	s.findPlaces(ctx)
	if s.opts.Cursor == "" && s.selection.ID != "" && s.lookForID(ctx) {
		return
	}
	from, m := s.begin()
	for n := from; n < len(s.places); n++ {
		at := &s.places[n]
		more := false
		if s.missing[at.view.partition] == nil {
			var err error
			if more, err = s.through(ctx, at, m); err != nil {
				s.missing[at.view.partition] = err
			}
		}
		if more || s.ended() && n+1 < len(s.places) {
			if !more {
				s.goOn(&s.places[n+1], position{})
			}
			break
		}
		m = position{}
	}
	s.page.Total = max(s.page.Total, s.page.Through)
	s.tell(ctx)
}

// tell reads all of the jobs that were found, in their order: those that live, and behind them, by place, those that
// have ended.
func (s *search) tell(ctx context.Context) {
	s.page.Jobs = []*JobInfo{}
	for rest := s.found; len(rest) > 0; {
		of, n := rest[0].of, 1
		for n < len(rest) && of.toldWith(rest[n].of) {
			n++
		}
		var infos []*JobInfo
		var err error
		if of.hasEnded() {
			infos, err = of.view.describedEnded(ctx, of, rest[:n])
		} else {
			infos, err = of.view.described(ctx, rest[:n], func(info *JobInfo) bool {
				return !info.State.Ended() && (s.selection.State == "" || info.State == s.selection.State)
			})
		}
		if err != nil {
			s.missing[of.view.partition] = err
		}
		s.page.Jobs, rest = append(s.page.Jobs, infos...), rest[n:]
	}
}

// toldWith tells whether jobs of both places can be read at once.
func (at *place) toldWith(other *place) bool {
	return at == other || at.view == other.view && !at.hasEnded() && !other.hasEnded()
}

// findPlaces says where is to be looked. Places without jobs are left out.
func (s *search) findPlaces(ctx context.Context) {
	for _, a := range ask(ctx, s.of.views, s.placesOf) {
		if a.err != nil {
			s.missing[a.from.partition] = a.err
		}
		for n := range a.value {
			s.page.Total += a.value[n].length
		}
		s.places = append(s.places, a.value...)
	}
	slices.SortStableFunc(s.places, func(a, b place) int { return s.order(&a, &b) })
}

// order is that in which places are searched.
func (s *search) order(a, b *place) int {
	rank := func(state work.State) int { return slices.Index(s.states(), state) }
	return cmp.Or(cmp.Compare(rank(a.state), rank(b.state)), strings.Compare(a.name, b.name),
		cmp.Compare(a.view.partition, b.view.partition))
}

// placesOf are those of one partition.
func (s *search) placesOf(v *view, ctx context.Context) (places []place, err error) {
	var known []string
	for _, state := range s.states() {
		names := []string{s.selection.Name}
		if state == work.StateRunning {
			names[0] = s.claimsOf()
		}
		if state == work.StateQueued || state.Ended() && s.selection.Name == "" {
			if known == nil {
				if known, err = s.queues(ctx, v); err != nil {
					return nil, err
				}
			}
			if names = known; state.Ended() { // whatever they needed
				names = slices.DeleteFunc(slices.Clone(known), needs.Some)
			}
		}
		lengths, err := s.lengths(ctx, v, state, names)
		if err != nil {
			return nil, err
		}
		for n, name := range names {
			if lengths[n] > 0 {
				places = append(places, place{view: v, state: state, name: name, newest: s.opts.Newest,
					length: lengths[n]})
			}
		}
	}
	return places, nil
}

// queues are those that may have jobs of the selection.
func (s *search) queues(ctx context.Context, v *view) ([]string, error) {
	if s.selection.Name != "" {
		return v.store.QueuesOf(ctx, append(s.partitions.Map().SharedBy(s.selection.Name), s.selection.Name))
	}
	seen, err := v.store.QueueNames(ctx)
	return slices.Sorted(maps.Keys(seen)), err
}

// claimsOf is the queue of the jobs that run; "" is any, where these stand in one that their name shares.
func (s *search) claimsOf() string {
	if len(s.partitions.Map().SharedBy(s.selection.Name)) > 0 {
		return ""
	}
	return s.selection.Name
}

// lengths are how many records there are to be looked at. A queue whose key is broken has none.
func (s *search) lengths(ctx context.Context, v *view, state work.State, names []string) ([]int, error) {
	switch {
	case state == work.StateRunning:
		_, n, err := v.store.ClaimPage(ctx, s.claimsOf(), rdb.ClaimCursor{}, 1)
		return []int{n}, err
	case selectable[state] != "":
		n, err := v.store.Length(ctx, "", selectable[state])
		return []int{n}, err
	}
	if state.Ended() {
		shelves := make([]rdb.EndedShelf, len(names))
		for n, name := range names {
			shelves[n] = endedShelf(state, name)
		}
		return v.store.EndedCounts(ctx, shelves)
	}
	tips, err := v.store.QueueHeads(ctx, names)
	lengths := make([]int, len(tips))
	for n, tip := range tips {
		lengths[n] = tip.Length
	}
	return lengths, err
}

// lookForID looks for a job with that very id. It is true if there is one.
func (s *search) lookForID(ctx context.Context) bool {
	id := s.selection.ID
	if invalid.JobID(id) != nil {
		return false
	}
	question := func(v *view, ctx context.Context) (rdb.Found, error) {
		found, err := lookedUp(ctx, []string{id}, v.store.Lookup)
		switch {
		case err != nil:
			return rdb.Found{}, err
		case found[0].Where == rdb.WhereGone:
			return rdb.Found{}, work.ErrNotFound
		}
		return found[0], nil
	}
	v, found, err := seek(ctx, s.Inspector, id, seeking[rdb.Found]{question: question})
	if err != nil {
		if s.of.single() && !errors.Is(err, work.ErrNotFound) {
			s.missing[0] = err
		}
		return false
	}
	info, err := newJobInfo(&found)
	if info == nil || err != nil {
		return false // the search comes by it, and says what is wrong
	}
	info = v.placed(info)
	seen, onlyID := seenFrom(&found), s.selection.onlyID()
	if !onlyID && (seen.over || s.selection.State != "" && s.selection.State != seen.state ||
		!s.selection.matches(&seen)) {
		return false
	}
	s.page.Jobs, s.page.Looked, s.page.Through = []*JobInfo{info}, 1, 1
	s.page.Total = max(s.page.Total, 1)
	s.cursor.Exact = true
	if len(s.places) > 0 && s.page.Total > 1 {
		s.goOn(&s.places[0], position{})
	}
	return true
}

// begin is where to go on: in the place of the cursor, or in the next one if that is empty by now.
func (s *search) begin() (n int, m position) {
	if s.opts.Cursor == "" {
		return 0, position{}
	}
	at := place{state: s.cursor.State, name: s.cursor.Name, view: &view{partition: s.cursor.At}}
	for n := range s.places {
		switch order := s.order(&s.places[n], &at); {
		case order == 0:
			return n, s.cursor.Mark
		case order > 0:
			return n, position{}
		}
	}
	return len(s.places), position{}
}

// ended tells whether this call has done its share.
func (s *search) ended() bool {
	return s.page.Looked >= maxSearched || len(s.found) >= s.opts.Limit || s.bytes >= maxSearchedBytes
}

func (s *search) goOn(at *place, m position) {
	s.page.Next = encodeCursor(searchCursor{Search: s.digest(), Newest: s.opts.Newest, State: at.state, Name: at.name,
		At: at.view.partition, Mark: m,
		Through: s.page.Through, Exact: s.cursor.Exact})
}

// through looks through a place. It is true if there is more of it, where the next call goes on.
func (s *search) through(ctx context.Context, at *place, m position) (more bool, err error) {
	for size := 16; !s.ended(); {
		part, err := at.view.read(ctx, at, m, min(size, maxSearched-s.page.Looked))
		if err != nil {
			return false, err
		}
		if len(part.jobs) == 0 {
			if m, more = part.behind(0); !more {
				return false, nil
			}
			continue
		}
		now, bytes, err := s.describe(ctx, at, part.jobs)
		if err != nil {
			return false, err
		}
		looked := s.pick(at, &part, now)
		s.bytes += bytes
		size = rdb.NextPage(size, bytes)
		if m, more = part.behind(looked); !more {
			return false, nil
		}
	}
	s.goOn(at, m)
	return true, nil
}

// describe reads what is needed to tell whether jobs match. The names of those on a shelf are in their records; where
// one cannot be read, it is asked for.
func (s *search) describe(ctx context.Context, at *place, jobs []rdb.SeenJob) (now int64, bytes int, err error) {
	if at.hasEnded() {
		return at.view.describeEnded(ctx, at, jobs)
	}
	now, bytes, err = at.view.store.Skim(ctx, jobs, s.selection.asksForTrail())
	if err != nil {
		return 0, 0, err
	}
	for n := range jobs {
		if job := &jobs[n]; job.Queue == "" && job.Record != nil {
			if job.Queue = record.QueueIn(job.Record); job.Queue == "" {
				if _, _, err := at.view.store.Describe(ctx, jobs[n:n+1]); err != nil {
					return 0, 0, err
				}
			}
		}
	}
	return now, bytes, nil
}

// pick takes what matches, until there is enough, and returns how many jobs it has looked at.
func (s *search) pick(at *place, part *portion, now int64) int {
	for n := range part.jobs {
		if len(s.found) >= s.opts.Limit {
			return n
		}
		seen := seenJob{SeenJob: part.jobs[n], state: at.state, now: now}
		if s.cursor.Exact && seen.ID == s.selection.ID {
			continue // it was found first
		}
		s.page.Looked++
		s.page.Through++
		if s.selection.matches(&seen) {
			hit := listedJob{id: seen.ID, state: at.state, ahead: -1, score: seen.Score, of: at}
			if part.ahead != nil {
				hit.ahead = part.ahead(n)
			}
			s.found = append(s.found, hit)
		}
	}
	return len(part.jobs)
}
