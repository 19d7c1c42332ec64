package worktest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fakeT stands for a test that fails, to see with what words.
type fakeT struct {
	testing.TB
	ctx context.Context
	end func() // ends ctx

	mu       sync.Mutex
	errors   []string
	logged   []string
	cleanups []func()
}

// failing runs test as a test of its own, with its cleanups, and returns the text of its failures; "" when there were
// none.
func failing(t *testing.T, test func(t testing.TB)) string {
	t.Helper()
	return strings.Join(runFake(t, test).errors, "\n")
}

func runFake(t *testing.T, test func(t testing.TB)) *fakeT {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fake := &fakeT{TB: t, ctx: ctx, end: cancel}
	over := make(chan struct{})
	go func() { // Fatalf ends the goroutine
		defer close(over)
		test(fake)
	}()
	<-over
	for _, cleanup := range slices.Backward(fake.cleanups) {
		cleanup()
	}
	return fake
}

// over ends the Context of a fake, as soon as all is there that a failure is to tell of: nobody waits any longer.
func over(t testing.TB) { t.(*fakeT).end() }

func (f *fakeT) Helper()                  {}
func (f *fakeT) Context() context.Context { return f.ctx }

func (f *fakeT) Cleanup(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cleanups = append(f.cleanups, fn)
}

func (f *fakeT) Logf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logged = append(f.logged, fmt.Sprintf(format, args...))
}

func (f *fakeT) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

func (f *fakeT) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}
