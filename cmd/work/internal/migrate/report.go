package migrate

import (
	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
)

// mostListed is how many jobs of a sort a report names.
const mostListed = 100

// Report is what came over, or would.
type Report struct {
	From       string              `json:"from"`
	DryRun     bool                `json:"dry_run"`
	Moved      map[ledger.Kind]int `json:"moved"` // with those that were there already
	Total      int                 `json:"total"` // of those
	Twins      int                 `json:"twins"` // of those: not stored, since another one lives
	TwinIDs    []Named             `json:"twin_jobs,omitempty"`
	Left       map[ledger.Kind]int `json:"left,omitempty"` // still on the old side
	Refused    int                 `json:"refused"`        // of those: cannot come over
	RefusedIDs []Named             `json:"refused_jobs,omitempty"`
	Changed    map[string]int      `json:"changed,omitempty"` // jobs by what is different about them
	Notes      []string            `json:"notes,omitempty"`
	Complete   bool                `json:"complete"`

	names map[string]bool // of what came over
}

// Named is a job and why it was not stored.
type Named struct {
	ID     string `json:"id"` // that of the old side
	Where  string `json:"where"`
	Reason string `json:"reason"`
}

func newReport(from string, dry bool) *Report {
	return &Report{From: from, DryRun: dry, Moved: map[ledger.Kind]int{}, Left: map[ledger.Kind]int{},
		Changed: map[string]int{}, names: map[string]bool{}}
}

// came counts jobs that came over, or would.
func (r *Report) came(kind ledger.Kind, job *Job) {
	r.Moved[kind]++
	r.Total++
	r.names[job.Name] = true
	for _, note := range job.Notes {
		r.Changed[note]++
	}
	if job.Dead {
		r.Changed["dead: stalled here, with the tag "+DeadTag]++
	}
}

func (r *Report) twin(job ledger.Job, why string) {
	r.Twins++
	if len(r.TwinIDs) < mostListed {
		r.TwinIDs = append(r.TwinIDs, Named{ID: job.Member, Where: job.Key, Reason: why})
	}
}

func (r *Report) refuse(job ledger.Job, err error) {
	r.Refused++
	if len(r.RefusedIDs) < mostListed {
		r.RefusedIDs = append(r.RefusedIDs, Named{ID: job.Member, Where: job.Key, Reason: err.Error()})
	}
}

// left counts what is still on the old side.
func (r *Report) left() (n int) {
	for _, count := range r.Left {
		n += count
	}
	return n
}
