package resize

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// SupersededError says that somebody wants another number of partitions since.
type SupersededError struct{ Wanted int }

func (e *SupersededError) Error() string {
	return fmt.Sprintf("somebody wants %d partitions since: that goes on", e.Wanted)
}

// ErrNumber says how many partitions there may be.
var ErrNumber = fmt.Errorf("a namespace has from 1 to %d partitions", partition.Max)

// ErrShared says that a namespace cannot be divided.
var ErrShared = errors.New("names of jobs share a queue (JobOptions.Queue), or did: such a namespace cannot be " +
	"divided into partitions yet")

// To makes a namespace have n open partitions, and returns when what is bound is where it belongs and those that go are
// closed. Whatever keeps it from going on, such as a partition that is away, it tells, and tries again until ctx ends.
// It may be called again at any time, by anybody, and goes on with what it finds. progress is called by one goroutine;
// it may be nil.
func To(ctx context.Context, directory *partition.Directory, n int, progress func(Progress)) error {
	return to(ctx, directory, n, true, progress)
}

// Begin is [To] which does not wait for the jobs in partitions that go: workers work them off, and [Settle] does the
// rest.
func Begin(ctx context.Context, directory *partition.Directory, n int, progress func(Progress)) error {
	return to(ctx, directory, n, false, progress)
}

func to(ctx context.Context, directory *partition.Directory, n int, waits bool, progress func(Progress)) error {
	if n < 1 || n > partition.Max {
		return ErrNumber
	}
	r := &resizing{directory: directory, n: n, waits: waits, lead: newMover, report: progress,
		progress: Progress{Wanted: n}}
	for failures := 0; ; failures++ {
		done, err := r.pass(ctx, failures == 0)
		if done || err == nil && !waits {
			return nil
		}
		var superseded *SupersededError
		if errors.As(err, &superseded) || errors.Is(err, ErrShared) {
			return err
		}
		if !errors.Is(err, rdb.ErrLed) { // it has stood still for too long, and begins anew
			r.progress.Waiting = err
			r.tell()
		}
		if !backoff.Pause(ctx, min(time.Second, 50*time.Millisecond<<min(failures, 5))) {
			if err == nil {
				err = context.Cause(ctx)
			}
			return excerpt.Error(err)
		}
	}
}

// resizing is one call of To, or of Continue.
type resizing struct {
	directory *partition.Directory
	n         int
	waits     bool
	continues bool // it only goes on with what is wanted already
	lead      leading
	report    func(Progress)
	progress  Progress
}

func (r *resizing) tell() {
	if r.report != nil {
		r.report(r.progress)
	}
}

func (r *resizing) count(jobs int) {
	r.progress.Jobs += jobs
	r.tell()
}

// pass goes as far as it can, and tells whether all is done.
func (r *resizing) pass(ctx context.Context, first bool) (done bool, err error) {
	if err := r.directory.Refresh(ctx); err != nil {
		return false, err
	}
	if r.directory.Map().Single() && r.n == 1 {
		return true, nil
	}
	if err := r.begin(ctx, first); err != nil {
		return false, err
	}
	if err := r.move(ctx); err != nil {
		return false, err
	}
	r.progress.Left = 0
	for i := range r.directory.Map().Len() {
		if r.directory.Map().State(i) == partition.Closed {
			continue
		}
		left, err := settle(ctx, r.directory, i, r.count)
		if err != nil {
			return false, err
		}
		if r.directory.Map().State(i) == partition.Draining {
			r.progress.Left += left
		}
	}
	r.progress.Waiting = nil
	r.tell()
	if len(r.directory.Map().In(partition.Draining)) > 0 {
		return false, nil
	}
	err = r.end(ctx)
	return err == nil, err
}

// begin decides what is wanted.
func (r *resizing) begin(ctx context.Context, first bool) error {
	m := r.directory.Map()
	if other := r.superseded(m, first); other >= 0 {
		return &SupersededError{Wanted: other}
	}
	if asWanted(m, r.n) && m.Wanted == 0 && slices.Equal(Plan(m), placed(m)) {
		return nil
	}
	for i := range max(r.n, m.Len()) {
		if err := r.directory.Store(i).WriteLayout(ctx, rdb.Layout, rdb.OldestLayout); err != nil {
			return at(i, err)
		}
	}
	return r.open(ctx, first)
}

// superseded is the number of partitions that somebody else wants; 0 where another one has done all, -1 where it is to
// go on.
func (r *resizing) superseded(m *partition.Map, first bool) int {
	if m.Wanted != r.n && (r.continues || !first && m.Wanted != 0) {
		return m.Wanted
	}
	return -1
}

// Wanted is a map with n open partitions, and the others on their way out. Buckets are where they were.
func Wanted(m *partition.Map, n int) *partition.Map {
	m = m.Clone()
	for len(m.Buckets) < partition.Buckets {
		m.Buckets = append(m.Buckets, 0)
	}
	for len(m.States) < n {
		m.States = append(m.States, partition.Open)
	}
	for i := range m.States {
		switch {
		case i < n:
			m.States[i] = partition.Open
		case m.States[i] == partition.Open:
			m.States[i] = partition.Draining
		}
	}
	return m
}

func asWanted(m *partition.Map, n int) bool {
	for i := range max(n, m.Len()) {
		if (m.State(i) == partition.Open) != (i < n) {
			return false
		}
	}
	return true
}

// placed is where each bucket is.
func placed(m *partition.Map) []int {
	where := make([]int, partition.Buckets)
	for bucket := range where {
		where[bucket] = m.At(bucket)
	}
	return where
}

// limitedNames are the names that have a limit where all is in one partition. In a namespace that was never divided
// none of them is bound yet.
func limitedNames(ctx context.Context, directory *partition.Directory) ([]string, error) {
	m := directory.Map()
	if len(m.Open()) > 1 || len(m.Moving) > 0 || slices.Max(placed(m)) > 0 {
		return nil, nil
	}
	rules, err := directory.Store(0).Rules(ctx)
	if err != nil {
		return nil, at(0, err)
	}
	var names []string
	for name, text := range rules {
		rule, err := rdb.ParseRule(text)
		if err == nil && name != rdb.Everything && (rule.Limit != (rdb.Limit{}) || rule.Code != (rdb.Limit{})) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// move brings all buckets to where they are to be. One that somebody has left on its way is brought there first, since
// a part of it is there: also to a partition that is not wanted any more, from where it goes on.
func (r *resizing) move(ctx context.Context) error {
	r.progress.Buckets = r.progress.Moved
	for {
		m := r.directory.Map()
		plan := Plan(m)
		leaving := map[int][]int{}
		for bucket, to := range plan {
			_, moving := m.Moving[bucket]
			if from := m.At(bucket); from != to || moving {
				leaving[from] = append(leaving[from], bucket)
				r.progress.Buckets++
			}
		}
		r.tell()
		if len(leaving) == 0 {
			return nil
		}
		for source := range m.Len() {
			if len(leaving[source]) > 0 {
				if err := r.moveBuckets(ctx, source, leaving[source], plan); err != nil {
					return err
				}
			}
		}
	}
}

// end notes that the resize is done, unless somebody wants another number of partitions since.
func (r *resizing) end(ctx context.Context) error {
	ended, other := int64(0), 0
	err := decide(ctx, r.directory, func(m *partition.Map) bool {
		ended, other = 0, 0
		switch {
		case m.Wanted != 0 && m.Wanted != r.n:
			other = m.Wanted
			return false
		case !asWanted(m, r.n):
			other = len(m.Open())
			return false
		case m.Wanted == 0 && !m.Tracking:
			return false
		}
		m.Wanted, m.Tracking = 0, false
		ended = m.Version + 1
		return true
	})
	if err == nil && other != 0 {
		return &SupersededError{Wanted: other}
	}
	for i := range r.directory.Map().Len() {
		if err == nil && ended > 0 && r.directory.Map().State(i) != partition.Closed {
			err = at(i, r.directory.Store(i).ForgetTracked(ctx, ended))
		}
	}
	return err
}
