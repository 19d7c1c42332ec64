package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// figure is what a test measured.
type figure struct {
	Test   string
	Fault  string // what was done
	Result string // what came of it
}

// measured logs a figure, and adds it to the file that WORK_FAULT_FIGURES names once the test has passed.
func measured(t *testing.T, fault, format string, args ...any) {
	t.Helper()
	line, err := json.Marshal(figure{Test: t.Name(), Fault: fault, Result: fmt.Sprintf(format, args...)})
	require.NoError(t, err)
	t.Logf("%s: "+format, append([]any{fault}, args...)...)
	file := os.Getenv("WORK_FAULT_FIGURES")
	if file == "" || t.Failed() {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	_, err = f.Write(append(line, '\n')) // at once: tests are parallel
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
