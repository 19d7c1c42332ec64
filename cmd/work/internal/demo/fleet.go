package demo

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// fleet is a set of child processes that run the demo's jobs.
type fleet struct {
	processes []*process
	ended     chan struct{} // closed when the last one has ended
}

// startFleet starts n processes of this program. Each writes into the log of runs under its number, from 1 on. None is
// left when it fails.
func startFleet(n int, opts poolOptions, log *runLog) (*fleet, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program's own file cannot be found, so it cannot be started again: %w", err)
	}
	f := &fleet{ended: make(chan struct{})}
	for number := 1; number <= n; number++ {
		m, err := startProcess(number, program, opts, log)
		if err != nil {
			f.watch()
			f.stop(cancelledContext())
			return nil, fmt.Errorf("worker process %d of %d cannot be started: %w", number, n, err)
		}
		f.processes = append(f.processes, m)
	}
	f.watch()
	return f, nil
}

// watch closes ended in due time.
func (f *fleet) watch() {
	var left atomic.Int64
	left.Store(int64(len(f.processes)))
	if len(f.processes) == 0 {
		close(f.ended)
		return
	}
	for _, m := range f.processes {
		go func() {
			<-m.ended
			if left.Add(-1) == 0 {
				close(f.ended)
			}
		}()
	}
}

// process returns the process of that number.
func (f *fleet) process(number int) *process { return f.processes[number-1] }

// dead says whether the process of that number has ended.
func (f *fleet) dead(number int) bool {
	select {
	case <-f.process(number).ended:
		return true
	default:
		return false
	}
}

// failure describes a process that ended though nobody told it to, nil if there is none.
func (f *fleet) failure() error {
	for _, m := range f.processes {
		if f.dead(m.number) && !m.told.Load() {
			return m.failure()
		}
	}
	return nil
}

// stop asks every process to stop and waits until they are gone. Once hurry ends they are killed.
func (f *fleet) stop(hurry context.Context) {
	for _, m := range f.processes {
		m.stop()
	}
	select {
	case <-f.ended:
		return
	case <-hurry.Done():
	case <-time.After(stopTimeout):
	}
	for _, m := range f.processes {
		m.kill()
	}
	<-f.ended
}

// stopTimeout is how long a process may take to stop: more than its pool's ShutdownTimeout.
const stopTimeout = 15 * time.Second

func cancelledContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
