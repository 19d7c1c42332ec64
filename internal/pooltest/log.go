package pooltest

import (
	"bytes"
	"sync"
)

// LockedBuffer is where a test's log goes.
type LockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write adds to it.
func (b *LockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

// String is all of it.
func (b *LockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
