package pooltest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
)

// Patient is a handler that tells when it begins, and goes on when it is told or when its ctx ends.
type Patient struct {
	Began chan string
	Ended chan error // the cause with which its ctx ended
	GoOn  chan struct{}
}

// NewPatient makes one that nobody has told to go on.
func NewPatient() *Patient {
	return &Patient{Began: make(chan string, 10), Ended: make(chan error, 10), GoOn: make(chan struct{})}
}

// Handle is the handler.
func (p *Patient) Handle(ctx context.Context, job *work.Job) error {
	p.Began <- job.ID
	select {
	case <-ctx.Done():
		p.Ended <- context.Cause(ctx)
		<-p.GoOn
	case <-p.GoOn:
	}
	return nil
}

// Tidy makes a pool whose janitor works all the time.
func (k *Kit) Tidy(p *work.WorkerPool) *work.WorkerPool {
	Times(p).Tidy = 50 * time.Millisecond
	return k.Start(p)
}

// Holding starts a pool whose jobs of one name block until their ctx ends, and returns it once it holds so many.
func (k *Kit) Holding(t *testing.T, name string, jobs int) *work.WorkerPool {
	t.Helper()
	started := make(chan string, jobs)
	pool := k.Start(work.NewWorkerPool(nil, jobs, k.Another(NewSpy())).
		Job(name, func(ctx context.Context, job *work.Job, _ int) error {
			started <- job.ID
			<-ctx.Done()
			return ctx.Err()
		}))
	for range jobs {
		Receive(t, started)
	}
	return pool
}

// Nothing is a handler of jobs that nobody looks at.
func Nothing() error { return nil }

// Wrapped puts an error into another.
func Wrapped(err error) error { return fmt.Errorf("while exporting: %w", err) }

// Report is a result, or an argument, with parts.
type Report struct {
	Lines int64             `json:"lines"`
	Notes map[string]string `json:"notes"`
	Next  *Report           `json:"next,omitempty"`
}

// Door is a handler that tells of each run, and ends it when the test says so.
type Door struct{ Began, Leave chan string }

// NewDoor makes one that is closed.
func NewDoor() *Door { return &Door{Began: make(chan string, 100), Leave: make(chan string)} }

// Pass is the handler.
func (g *Door) Pass(job *work.Job) error {
	g.Began <- job.ID
	<-g.Leave
	return nil
}

// Tally counts how often each job ran.
type Tally struct {
	Mu   sync.Mutex
	Runs map[string]int
}

// NewTally makes one that has counted nothing.
func NewTally() *Tally { return &Tally{Runs: map[string]int{}} }

// Handle is the handler.
func (l *Tally) Handle(job *work.Job, _ int) error {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.Runs[job.ID]++
	return nil
}

// Once checks that each of these jobs ran once, and no other did.
func (l *Tally) Once(t *testing.T, receipts []work.Receipt) {
	t.Helper()
	l.Mu.Lock()
	defer l.Mu.Unlock()
	assert.Len(t, l.Runs, len(receipts))
	for _, receipt := range receipts {
		assert.Equal(t, 1, l.Runs[receipt.ID])
	}
}
