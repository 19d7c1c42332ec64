package worqr

import (
	"fmt"
	"strings"

	"github.com/265d0351/work/internal/ids"
)

const (
	maxNameBytes = 512
	maxTaskBytes = 64 << 20
)

// validQueue refuses names that cannot be. Colons, underscores and any other bytes are fine: nothing in Redis is taken
// apart at them.
func validQueue(queue string) error {
	if queue == "" || len(queue) > maxNameBytes {
		return &InvalidError{What: "queue name", Value: fmt.Sprintf("%.100q", queue), Remedy: "use 1 to 512 bytes"}
	}
	return nil
}

func validTask(task []byte) error {
	if len(task) > maxTaskBytes {
		return &InvalidError{What: "task", Value: fmt.Sprintf("of %d bytes", len(task)),
			Remedy: "use at most 67108864 (64 MiB)"}
	}
	return nil
}

// processID is one that nobody else has: the queue and a UUID, as the released program has them.
func processID(queue string) string { return queue + "_" + ids.UUID() }

// queueOf is the queue of a process id. A UUID has no underscore, so a name may have any.
func queueOf(process string) (string, error) {
	at := strings.LastIndexByte(process, '_')
	if at < 1 || !ids.IsUUID(process[at+1:]) {
		return "", &ProcessError{ID: process}
	}
	return process[:at], nil
}
