// Package comingover_test tests work migrate together with the library that it takes jobs from.
package comingover_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

const (
	namespace = "shop"
	patience  = time.Minute
)

var (
	folder  string // of the program
	program = sync.OnceValues(func() (string, error) {
		path := filepath.Join(folder, "work")
		out, err := exec.Command("go", "build", "-o", path, "github.com/265d0351/work/cmd/work").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return path, err
	})
)

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "work-migrate"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder) //lint:ignore errcheck a leftover in the temporary directory
	redistest.Main(m)
}

// bridge is the command for a library, both sides on one Redis.
type bridge struct {
	dsn, library string
	flags        []string
}

// command is the command with these flags more.
func (b bridge) command(t *testing.T, flags ...string) *exec.Cmd {
	t.Helper()
	path, err := program()
	require.NoError(t, err)
	args := append([]string{"migrate", b.library, "--from", b.dsn, "--to", b.dsn, "--namespace", namespace, "--json"},
		append(b.flags, flags...)...)
	return exec.CommandContext(t.Context(), path, args...)
}

// report is what the command prints.
type report struct {
	Moved    map[string]int
	Total    int
	Twins    int
	Left     map[string]int
	Refused  int
	Changed  map[string]int
	Notes    []string
	Complete bool
}

// run runs it to its end.
func run(t *testing.T, cmd *exec.Cmd) (r report, status int) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if status = cmd.ProcessState.ExitCode(); status != 0 && status != 5 {
		require.NoError(t, err, errOut.String())
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	require.NoError(t, json.Unmarshal(lines[len(lines)-1], &r), out.String())
	return r, status
}

// killed runs it and kills it after a random time, and says whether it was killed before it ended.
func killed(t *testing.T, cmd *exec.Cmd, most time.Duration) bool {
	t.Helper()
	require.NoError(t, cmd.Start())
	<-time.After(rand.N(most)) // chance is what is tested
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	return !cmd.ProcessState.Exited()
}

// counts says how often each job has run well, on either side.
type counts struct {
	mutex    sync.Mutex
	old, new map[string]int
}

func newCounts() *counts { return &counts{old: map[string]int{}, new: map[string]int{}} }

func (c *counts) note(side map[string]int, id string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	side[id]++
}

// ran is how many have run.
func (c *counts) ran() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	n := len(c.old)
	for id := range c.new {
		if c.old[id] == 0 {
			n++
		}
	}
	return n
}

// onceEach compares what has run with what was enqueued.
func (c *counts) onceEach(t *testing.T, ids []string) {
	t.Helper()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	wrong := map[string]int{}
	for _, id := range ids {
		if n := c.old[id] + c.new[id]; n != 1 {
			wrong[id] = n
		}
	}
	assert.Empty(t, wrong, "of %d", len(ids))
	assert.LessOrEqual(t, len(c.old)+len(c.new), len(ids))
}
