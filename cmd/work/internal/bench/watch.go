package bench

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/human"
)

// watch looks at a count while something goes on: it shows how far it is, and notes when it was where.
type watch struct {
	console  *console.Console
	kind     string
	total    int
	count    func() int64
	progress func() int // what is shown instead of the count, if not nil
}

// watchInterval is the finest that a pace is noted at; a bar that is drawn more often is not seen.
const watchInterval = 20 * time.Millisecond

// until returns when over is closed, when ctx has ended, or when the count has not moved for too long.
func (w watch) until(ctx context.Context, over <-chan struct{}) pace {
	shown := console.NewProgress(w.console, w.kind, w.total)
	defer shown.Clear()
	began, moved := time.Now(), time.Now()
	went := newPace()
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		ended := false
		select {
		case <-over:
			ended = true
		case <-ctx.Done():
			ended = true
		case <-tick.C:
		}
		n := int(w.count())
		if n > went.last().jobs {
			moved = time.Now()
		}
		went.note(time.Since(began), n)
		if ended || time.Since(moved) > stallTimeout {
			return went
		}
		if w.progress != nil {
			n = w.progress()
		}
		shown.Set(min(n, w.total))
	}
}

// pace is how many jobs were done by when. It stays small however long it is noted.
type pace struct {
	points []point
	every  time.Duration // points are at least this far apart
}

type point struct {
	at   time.Duration
	jobs int
}

const mostPoints = 1024

func newPace() pace { return pace{points: []point{{}}} }

func (p *pace) last() point { return p.points[len(p.points)-1] }

// note adds a point, or moves the last one where that is too near.
func (p *pace) note(at time.Duration, jobs int) {
	if n := len(p.points); n > 1 && at-p.points[n-2].at < p.every {
		p.points[n-1] = point{at, jobs}
		return
	}
	p.points = append(p.points, point{at, jobs})
	if len(p.points) < mostPoints {
		return
	}
	kept := 0
	for i := 0; i < len(p.points); i += 2 {
		p.points[kept] = p.points[i]
		kept++
	}
	p.points = p.points[:kept]
	p.every = 2 * p.last().at / time.Duration(kept-1)
}

// rates are jobs per second in up to n parts of equal length, none of them shorter than what was noted.
func (p *pace) rates(n int) (rates []float64, part time.Duration) {
	n = min(n, len(p.points)-1)
	if n < 1 || p.last().at <= 0 {
		return nil, 0
	}
	part = p.last().at / time.Duration(n)
	if part <= 0 {
		return nil, 0
	}
	rates = make([]float64, n)
	before := 0.0
	for i := range rates {
		by := p.by(time.Duration(i+1) * part)
		rates[i] = max(0, (by-before)/part.Seconds())
		before = by
	}
	return rates, part
}

// by is how many jobs were done at that time, on the line between the points beside it.
func (p *pace) by(at time.Duration) float64 {
	i, found := slices.BinarySearchFunc(p.points, at, func(p point, at time.Duration) int { return int(p.at - at) })
	if found || i == 0 {
		return float64(p.points[i].jobs)
	}
	if i == len(p.points) {
		return float64(p.last().jobs)
	}
	a, b := p.points[i-1], p.points[i]
	return float64(a.jobs) + float64(b.jobs-a.jobs)*float64(at-a.at)/float64(b.at-a.at)
}

// MarshalJSON writes the rates over time.
func (p pace) MarshalJSON() ([]byte, error) {
	rates, part := p.rates(60)
	return json.Marshal(struct {
		Each  human.Seconds `json:"seconds_each"`
		Rates []float64     `json:"jobs_per_second"`
	}{human.Seconds(part), append([]float64{}, rates...)})
}
