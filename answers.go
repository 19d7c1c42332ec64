package work

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/questions"
)

// PoolInfo is what a worker answers to the message "info".
type PoolInfo struct {
	Worker      string      `json:"worker"`
	Host        string      `json:"host"`
	PID         int         `json:"pid"`
	Version     string      `json:"version"` // of the program's main module
	Go          string      `json:"go"`
	Uptime      string      `json:"uptime"` // of the worker, as "1h2m3s"
	Goroutines  int         `json:"goroutines"`
	Memory      uint64      `json:"memory"` // bytes that the Go runtime has from the system
	Heap        uint64      `json:"heap"`   // bytes of living objects, and of those not collected yet
	Concurrency int         `json:"concurrency"`
	Messages    []string    `json:"messages"` // that it answers
	Running     []RunningAt `json:"running"`  // what it holds, at most 100
}

// RunningAt is a job that a worker holds, in a [PoolInfo].
type RunningAt struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	For  string `json:"for"` // since its handler was called; "" before
}

// maxInfoJobs is how many jobs an answer to "info" names.
const maxInfoJobs = 100

// newAnswerer makes what answers the messages to a worker.
func (w *worker) newAnswerer() *questions.Answerer {
	return &questions.Answerer{Store: w.store, Life: w.life, Serving: w.untilStop, Timeout: fetchTimeout,
		Find: func(id, name string) (questions.Handler, error) {
			switch name {
			case "echo":
				return func(_ context.Context, payload json.RawMessage) (any, error) { return payload, nil }, nil
			case "info":
				return func(context.Context, json.RawMessage) (any, error) { return w.poolInfo(id), nil }, nil
			}
			if handler := w.engine.messages[name]; handler != nil {
				return handler, nil
			}
			return nil, fmt.Errorf("message %s is not known to this worker: it answers %s", excerpt.Brief(name),
				strings.Join(w.engine.messageNames(), ", "))
		}}
}

// messageNames are the messages that the pool answers, in order.
func (e *engine) messageNames() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(e.messages)), "echo", "info")))
}

func (w *worker) poolInfo(id string) PoolInfo {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	host, _ := os.Hostname() // unknown is shown as empty
	info := PoolInfo{Worker: id, Host: host, PID: os.Getpid(), Version: programVersion(), Go: runtime.Version(),
		Uptime: time.Since(w.made).Round(time.Second).String(), Goroutines: runtime.NumGoroutine(), Memory: memory.Sys,
		Heap: memory.HeapAlloc, Concurrency: w.concurrency, Messages: w.engine.messageNames(), Running: []RunningAt{}}
	for _, c := range w.sessions() {
		runs := c.runs()
		inOrder(runs)
		for _, r := range runs[:min(len(runs), maxInfoJobs-len(info.Running))] {
			running := RunningAt{ID: r.job.ID, Name: r.job.Name}
			if r.begun.Load() > 0 {
				running.For = time.Since(r.begunAt()).Round(time.Millisecond).String()
			}
			info.Running = append(info.Running, running)
		}
	}
	return info
}
