package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// previousVariable names the commit whose programs run beside those of this tree. Without it that is the one before the
// last commit that changed a script, or what Go writes to Redis.
const previousVariable = "WORK_PREVIOUS"

// previous is the program of a member as it was built at an earlier commit.
type previous struct {
	commit  string
	program string
	missing string // why there is none
}

// previousProgram builds it once for all tests.
var previousProgram = sync.OnceValue(func() previous {
	commit := os.Getenv(previousVariable)
	if commit == "" {
		last, err := git("log", "-1", "--format=%H", "--", ":/lua", ":/internal/rdb")
		if err != nil || last == "" {
			return previous{missing: fmt.Sprintf("this tree has no history of its scripts: %v", err)}
		}
		commit = last + "^"
	}
	commit, err := git("rev-parse", "--verify", commit)
	if err != nil {
		return previous{missing: fmt.Sprintf("the commit before is not there (%s names another): %v", previousVariable,
			err)}
	}
	program, err := buildAt(commit)
	if err != nil {
		return previous{missing: fmt.Sprintf("%s cannot be built: %v", commit, err)}
	}
	return previous{commit: commit, program: program}
})

// git runs a command of git in this tree and returns its output, without white space around it.
func git(words ...string) (string, error) {
	out, err := exec.Command("git", words...).Output()
	return strings.TrimSpace(string(out)), err
}

// buildAt builds the tests of this package at a commit: they are the program of a member too. It stays for the next
// run, one file for each commit.
func buildAt(commit string) (program string, err error) {
	root, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return "", err
	}
	program = filepath.Join(os.TempDir(), "work-previous-"+commit)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	dir, err := os.MkdirTemp("", "work-tree-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left is in a directory that the system empties
	archive := filepath.Join(dir, "tree.tar")
	built := filepath.Join(dir, "member")
	tree := filepath.Join(dir, "tree")
	for _, step := range []struct {
		in    string
		words []string
	}{
		{root, []string{"git", "archive", "--output", archive, commit}},
		{dir, []string{"mkdir", tree}},
		{dir, []string{"tar", "-xf", archive, "-C", tree}},
		{filepath.Join(tree, "integration"), []string{"go", "test", "-c", "-o", built, "."}},
		{dir, []string{"mv", built, program}}, // whole or not at all
	} {
		cmd := exec.Command(step.words[0], step.words[1:]...)
		cmd.Dir = step.in
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(step.words, " "), err, out)
		}
	}
	return program, nil
}

// layout is what a program of that commit knows of.
func (p previous) layout() (int, error) {
	source, err := git("show", p.commit+":internal/rdb/layout.go")
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^\s*Layout\s*=\s*(\d+)$`).FindStringSubmatch(source)
	if found == nil {
		return 0, fmt.Errorf("layout.go of %s does not say which it is", p.commit)
	}
	return strconv.Atoi(found[1])
}

// startPrevious starts a process of the program of the commit before.
func (f *fleet) startPrevious(concurrency int) *process {
	f.t.Helper()
	program := previousProgram()
	if program.missing != "" {
		f.t.Skip(program.missing)
	}
	f.program = program.program
	defer func() { f.program = "" }()
	return f.start(concurrency)
}

// TestMixedVersions runs workers and enqueuers of the commit before beside those of this one. A change of the layout
// either works so, or one of them refuses with an error that says why: then the test of it says which.
func TestMixedVersions(t *testing.T) {
	t.Parallel()
	many := pick(200, 5000)
	if program := previousProgram(); program.missing == "" {
		known, err := program.layout()
		require.NoError(t, err)
		if known < rdb.OldestLayout {
			t.Run("the old ones leave", func(t *testing.T) { theOldOnesLeave(t, many) })
			return
		}
	}
	t.Run("old workers, new enqueuers", func(t *testing.T) {
		t.Parallel()
		f := newFleet(t, redistest.Real(t).DSN())
		old := f.startPrevious(20)
		f.enqueue(many, "brief", 2)
		f.enqueue(many/10, "flaky", 2)
		f.settled()
		f.explained()
		f.undisturbed()
		assert.Zero(t, old.terminate())
		f.healthy()
	})
	t.Run("old enqueuers, new workers", func(t *testing.T) {
		t.Parallel()
		f := newFleet(t, redistest.Real(t).DSN())
		old := f.startPrevious(1)
		const in = 2 * time.Second // when the old worker has stopped, or is about to
		once := old.order(batch{Label: "waiting", Name: "brief", Ms: 1, Many: many, In: in})
		old.order(batch{Label: "failing", Name: "flaky", Ms: 1, Many: many / 10, In: in})
		assert.Zero(t, old.terminate())
		f.start(20)
		f.settled()
		f.once(once)
		f.healthy()
	})
	t.Run("both, and the old ones are killed", func(t *testing.T) {
		t.Parallel()
		f := newFleet(t, redistest.Real(t).DSN())
		old := []*process{f.startPrevious(20), f.startPrevious(20)}
		young := []*process{f.start(20), f.start(20)}
		for _, p := range append(old, young...) {
			p.order(batch{Label: "mixed", Name: "brief", Ms: 20, Many: many})
			p.order(batch{Label: "failing", Name: "flaky", Ms: 5, Many: 20})
		}
		f.enqueue(many, "brief", 20)
		for _, p := range old {
			f.ledger.await(t, ended, p.pid, 5)
			p.kill()
		}
		f.settled()
		f.explained()
		for _, p := range young {
			assert.NotEmpty(t, f.ledger.of(ended, p.pid))
		}
		f.healthy()
	})
}

// theOldOnesLeave is the upgrade past what the commit before knows: its worker says what is to be done, and ends what
// it holds; what waits is done by the others.
func theOldOnesLeave(t *testing.T, many int) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	old := f.startPrevious(5)
	old.order(batch{Label: "before", Name: "brief", Ms: 20, Many: many})
	f.ledger.await(t, ended, old.pid, 5)
	f.start(20)
	f.enqueue(many, "brief", 2)
	f.settled()
	f.explained()
	require.Eventually(t, func() bool {
		return strings.Contains(old.errors.String(), "this program is too old for the namespace")
	}, patience, 50*time.Millisecond, "it hears of it with a heartbeat")
	old.terminate()
	f.healthy()
}

// TestANewerLayoutEndsAProgramThatIsTooOld, with a sentence that says what to do.
func TestANewerLayoutEndsAProgramThatIsTooOld(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	_, err := f.do("SET", f.key("layout"), "9 9")
	require.NoError(t, err)
	p := f.launch(0, 1)
	<-p.exited
	assert.Equal(t, 1, p.cmd.ProcessState.ExitCode())
	assert.Contains(t, p.errors.String(), "its layout is 9 and needs programs that know 9")
}
