package inspect

import (
	"context"
	"math"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// What the tests outside of the package look at inside of it.
type (
	Mark         = position
	PageCursor   = pageCursor
	SearchCursor = searchCursor
)

const (
	DefaultPage      = defaultPage
	MaxSearched      = maxSearched
	MaxCursor        = maxCursor
	MaxRuns          = maxRuns
	HistogramBuckets = histogramBuckets
	FarReach         = maxQueueSearch
)

var (
	EncodeCursor  = encodeCursor
	DecodeCursor  = decodeCursor
	NextLookup    = nextLookup
	WhyQueued     = whyQueued
	ServerInfoOf  = serverInfo
	Searched      = searched
	Selectable    = selectable
	ErrRestless   = errKeepsMoving
	EncodeAllArgs = encodeArgs
)

// SealCursor makes a text of the bytes of a cursor, right or wrong.
func SealCursor(b []byte) string { return (&cursorWriter{b: b}).sealed() }

func (m *position) Validate(of work.State) error { return m.validate(of) }

func (p *HistoryPoint) Add(stored string) { p.add(stored) }

// StateOf is the state of a job as controls see it.
func StateOf(ctx context.Context, i *Inspector, id string) (work.State, error) {
	_, seen, err := i.find(ctx, id)
	return seen.state, err
}

// TurnPage has a Bulk read the next page of its only source, and act on it after something has happened.
func TurnPage(
	ctx context.Context, i *Inspector, selection Selection, action Action, between func(),
) (BulkReport, error) {
	b := &bulk{view: i.view(0), selection: selection, action: action}
	sources, err := b.sources(ctx, &selection)
	if err != nil {
		return b.report, err
	}
	var page []rdb.SeenJob
	if page, err = sources[0].next(ctx, 10); err != nil {
		return b.report, err
	}
	now, _, err := b.store.Describe(ctx, page)
	if err != nil {
		return b.report, err
	}
	between()
	_, err = b.turn(ctx, page, now)
	return b.report, err
}

// Alone looks into one partition as if it were all, and never learns of others.
func Alone(i *Inspector, n int) *Inspector {
	alone := &Inspector{begun: i.begun, enqueuer: i.enqueuer, morgueLimit: i.morgueLimit,
		partitions: partition.NewDirectory(i.partitions.Driver(), partition.Namespace(i.partitions.Namespace(), n))}
	alone.refreshed.Store(math.MaxInt64)
	return alone
}

// KeysCursorParked is a cursor at the first key of a queue that has parked jobs, behind those in line.
func KeysCursorParked(name string) string {
	return encodeCursor(keysCursor{Name: name, Marks: []keysMark{{List: listParked, Told: math.MaxInt32}}})
}
