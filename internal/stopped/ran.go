package stopped

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/265d0351/work/internal/history"
)

// Counts are attempts by how they ended, as far as Redis has acknowledged that.
type Counts struct {
	Done   int64 `json:"done,omitempty"`   // without an error
	Failed int64 `json:"failed,omitempty"` // with an error or a panic, whatever became of the job
	Dead   int64 `json:"dead,omitempty"`   // of those: the job died of it, or before it began
}

func (c Counts) sum() int64 { return c.Done + c.Failed }

func (c *Counts) count(a *history.Attempt) {
	switch a.Result {
	case history.Done:
		c.Done++
	case history.Failed:
		c.Failed++
	case history.Dead:
		c.Dead++
		c.Failed++
	}
}

// Ran is what a worker has run.
type Ran struct {
	Counts
	Names   []Name `json:"names,omitempty"`    // most first, at most [MostNames]
	LeftOut int    `json:"left_out,omitempty"` // how many names are not among them
}

// Name is what it has run of one name.
type Name struct {
	Name string `json:"name"`
	Counts
}

// MostNames is how many names are told of a worker.
const MostNames = 20

// first leaves all but so many names out.
func (r Ran) first(most int) Ran {
	if len(r.Names) > most {
		r.Names, r.LeftOut = slices.Clip(r.Names[:most]), r.LeftOut+len(r.Names)-most
	}
	return r
}

// Counter counts what a worker runs under one id. Its zero value has counted nothing; its methods may be called
// concurrently. Its lock is taken once per answer of Redis, and not per job.
type Counter struct {
	mu      sync.Mutex
	names   map[string]*Counts
	changed bool      // since it was told
	told    time.Time // when that was
}

// Count counts attempts whose outcomes Redis has just acknowledged.
func (c *Counter) Count(attempts []history.Attempt) {
	if len(attempts) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names == nil {
		c.names = map[string]*Counts{}
	}
	var of *Counts
	last := ""
	for i := range attempts {
		if a := &attempts[i]; of == nil || a.Name != last {
			if last, of = a.Name, c.names[a.Name]; of == nil {
				of = &Counts{}
				c.names[a.Name] = of
			}
		}
		of.count(&attempts[i])
	}
	c.changed = true
}

// Ran is what was counted so far.
func (c *Counter) Ran() Ran {
	c.mu.Lock()
	defer c.mu.Unlock()
	var r Ran
	for name, counts := range c.names {
		r.Done, r.Failed, r.Dead = r.Done+counts.Done, r.Failed+counts.Failed, r.Dead+counts.Dead
		r.Names = append(r.Names, Name{name, *counts})
	}
	slices.SortFunc(r.Names, func(a, b Name) int {
		return cmp.Or(cmp.Compare(b.sum(), a.sum()), strings.Compare(a.Name, b.Name))
	})
	return r.first(MostNames)
}

// tellEvery is how often a heartbeat tells what was run: what a worker that dies ran since then is not known.
const tellEvery = 5 * time.Second

// News is what the heartbeat of now should tell, as JSON; "" for nothing. Whoever does not get it to Redis calls
// [Counter.Untold].
func (c *Counter) News(now time.Time) string {
	if !c.due(now) {
		return ""
	}
	encoded, err := json.Marshal(c.Ran())
	if err != nil || len(encoded) > maxBytes {
		encoded, _ = json.Marshal(Ran{Counts: c.Ran().Counts}) // names may be long
	}
	return string(encoded)
}

func (c *Counter) due(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.changed || !c.told.IsZero() && now.Sub(c.told) < tellEvery {
		return false
	}
	c.changed, c.told = false, now
	return true
}

// Untold has the next heartbeat tell all of it: an answer was lost, or Redis has lost what it knew.
func (c *Counter) Untold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed, c.told = len(c.names) > 0, time.Time{}
}
